#include <cooperative_groups.h>
#include <cuda_fp16.h>
#define HALVES
#if defined(HALVES)
typedef __half number;
#else
typedef float number;
#endif
struct Pair { float payload[2]; };
template <int BlockSize>
__global__ void scaled(number* out, float* from, float* first, int num_items, float scale, int)
{
    namespace cg = cooperative_groups;
    cg::thread_block block = cg::this_thread_block();
    cg::thread_block_tile<32> warp = cg::tiled_partition<32>(block);
#ifdef WITHOUT_SCALE
    scale = 1;
#endif
    const Pair pair = {{scale, 0}};
    number* row = out + blockIdx.y * BlockSize;
    const float* given = from + blockIdx.y * BlockSize;
    if (first != nullptr && warp.thread_rank() == 0) __stcs(first + blockIdx.y, __ldcs(&given[0]));
    if (blockIdx.y < num_items) row[threadIdx.x] = number(pair.payload[0] * given[threadIdx.x]);
}
