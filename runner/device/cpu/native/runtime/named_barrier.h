// bar.sync and bar.arrive of inline PTX.
#pragma once

#include "worker.h"

namespace simt {

// These lanes, all that live of their warp, have come to one of the block's named barriers.
void arrive_at_named(Warp* warp, Operation operation, uint32_t lanes);

// A warp has returned, for which a barrier of all threads no longer waits.
void complete_named_after_exit(RunningBlock* block);

}  // namespace simt
