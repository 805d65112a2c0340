// __syncthreads and its relatives.
#pragma once

#include "worker.h"

namespace simt {

// All live threads of the block wait at a barrier: lets them go, or reports that they wait at different ones.
void release_barrier(RunningBlock* block);

}  // namespace simt
