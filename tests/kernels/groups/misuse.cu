// Kernels that use groups wrongly. tests/test_groups.py expects a message for each, with the lines that are named here.
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cooperative_groups/reduce.h>
#include <cuda/barrier>
#include <cuda_pipeline.h>

namespace cg = cooperative_groups;

extern "C" __global__ void sizeOfTile(int* out)
{
    out[threadIdx.x] = cg::tiled_partition(cg::this_thread_block(), 12).size();  // sizeOfTile
}
extern "C" __global__ void halfOfTile(int* out)
{
    const auto block = cg::this_thread_block();
    const auto tile = cg::tiled_partition<32>(block);
    if (threadIdx.x < 16) {
        out[threadIdx.x] = tile.shfl_down(out[threadIdx.x], 1);  // halfOfTile
    } else {
        block.sync();  // halfOfTile-others
    }
}
extern "C" __global__ void halfReduces(int* out)
{
    const auto tile = cg::tiled_partition<8>(cg::this_thread_block());
    if (threadIdx.x % 8 < 4) {
        out[threadIdx.x] = cg::reduce(tile, 1, cg::plus<int>());  // halfReduces-others
    } else {
        tile.sync();  // halfReduces
    }
}
extern "C" __global__ void oneWarpOfTwo(int* out)
{
    const auto tile = cg::tiled_partition<64>(cg::this_thread_block());
    if (threadIdx.x < 32) tile.sync();  // oneWarpOfTwo
    out[threadIdx.x] = 1;
}
extern "C" __global__ void differentCalls(int* out)
{
    const auto tile = cg::tiled_partition<64>(cg::this_thread_block());
    if (threadIdx.x < 32) {
        tile.sync();  // differentCalls-others
    } else {
        out[threadIdx.x] = tile.any(1);  // differentCalls
    }
}
extern "C" __global__ void noSuchRank(int* out)
{
    if (threadIdx.x < 5) out[threadIdx.x] = cg::coalesced_threads().shfl(1, 7);  // noSuchRank
}
extern "C" __global__ void gridSync(int* out)
{
    out[threadIdx.x] = 1;
    if (blockIdx.x == 1) return;
    cg::this_grid().sync();  // gridSync
}
extern "C" __global__ void gridAndBlock(int* out)
{
    if (threadIdx.x < 16) {
        cg::this_grid().sync();  // gridAndBlock-others
    } else {
        __syncthreads();  // gridAndBlock
    }
    out[threadIdx.x] = 1;
}

extern "C" __global__ void gridWithoutFirst(int* out)
{
    if (threadIdx.x == 0 && blockIdx.x == 2) return;
    cg::this_grid().sync();  // gridWithoutFirst
    out[threadIdx.x] = 1;
}

using Barrier = cuda::barrier<cuda::thread_scope_block>;

extern "C" __global__ void barrierOfMore(int* out)
{
    __shared__ Barrier barrier;
    if (threadIdx.x == 0) init(&barrier, blockDim.x + 1);
    __syncthreads();
    barrier.arrive_and_wait();  // barrierOfMore
    out[threadIdx.x] = 1;
}
extern "C" __global__ void barrierOfLess(int* out)
{
    __shared__ Barrier barrier;
    if (threadIdx.x == 0) init(&barrier, 30);
    __syncthreads();
    (void)barrier.arrive(31);  // barrierOfLess
    out[threadIdx.x] = 1;
}
extern "C" __global__ void noInit(int* out)
{
    __shared__ Barrier barrier;
    barrier.arrive_and_wait();  // noInit
    out[threadIdx.x] = 1;
}
extern "C" __global__ void noWait(int* out)
{
    __shared__ int s[32];
    const auto block = cg::this_thread_block();
    cg::memcpy_async(block, s, out, sizeof s);
    out[threadIdx.x] = s[threadIdx.x];
    cg::wait(block);
}
extern "C" __global__ void waitsForTheFirst(int* out)
{
    __shared__ int s[2][32];
    __pipeline_memcpy_async(&s[0][threadIdx.x], out + threadIdx.x, 4);
    __pipeline_commit();
    __pipeline_memcpy_async(&s[1][threadIdx.x], out + threadIdx.x, 4);
    __pipeline_commit();
    __pipeline_wait_prior(1);
    out[threadIdx.x] = s[1][threadIdx.x];
}
extern "C" __global__ void copyOfThree(int* out)
{
    __shared__ int s[32];
    __pipeline_memcpy_async(&s[threadIdx.x], out, 3);  // copyOfThree
}
extern "C" __global__ void copyBeyond(int* out)
{
    __shared__ int s[64];
    __pipeline_memcpy_async(&s[threadIdx.x], out + 40000 + threadIdx.x, 4);  // copyBeyond
    __pipeline_commit();
    __pipeline_wait_prior(0);
    out[threadIdx.x] = s[threadIdx.x];
}
extern "C" __global__ void promisedAlignment(int* out)
{
    __shared__ int s[32];
    const auto block = cg::this_thread_block();
    cg::memcpy_async(block, s, out + 1, cuda::aligned_size_t<16>(64));  // promisedAlignment
    cg::wait(block);
}
