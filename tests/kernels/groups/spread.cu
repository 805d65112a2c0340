// The distance of each number from the largest of all, and a little more: each block needs what all others have found.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

namespace cg = cooperative_groups;

__constant__ int more[2];

__global__ void spread(const int* in, int* found, int* out, int n)
{
    const auto grid = cg::this_grid();
    const auto warp = cg::tiled_partition<32>(cg::this_thread_block());
    __shared__ int largest;
    if (threadIdx.x == 0) largest = in[0];
    __syncthreads();
    int mine = in[0];
    for (int i = grid.thread_rank(); i < n; i += grid.size()) mine = max(mine, in[i]);
    mine = cg::reduce(warp, mine, cg::greater<int>());
    cg::invoke_one(warp, [&] { atomicMax(&largest, mine); });
    __syncthreads();
    if (threadIdx.x == 0) found[blockIdx.x] = largest;
    grid.sync();
    for (int b = 0; b < gridDim.x; ++b) mine = max(mine, found[b]);
    for (int i = grid.thread_rank(); i < n; i += grid.size()) out[i] = mine - in[i] + more[1];
}
