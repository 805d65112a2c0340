#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cuda/barrier>
__global__ void k(int* out)
{
    __shared__ cuda::barrier<cuda::thread_scope_block> arrived;
    const auto block = cooperative_groups::this_thread_block();
    if (block.thread_rank() == 0) init(&arrived, block.size());
    block.sync();
    arrived.arrive_and_wait();
    const auto warp = cooperative_groups::tiled_partition<32>(block);
    *out = cooperative_groups::reduce(warp, 1, cooperative_groups::plus<int>());
}
