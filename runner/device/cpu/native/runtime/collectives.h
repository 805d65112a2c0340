// Collectives of a warp: shuffles, votes, matches, reductions, __syncwarp, __activemask.
#pragma once

#include "worker.h"

namespace simt {

// `gone` has returned: completes the collectives that waited for it.
void complete_after_exit(RunningBlock* block, Lane* gone);

}  // namespace simt
