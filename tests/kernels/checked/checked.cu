// Small kernels for each rule of the checked device; BROKEN is 0 or 1, and stands for one line.
#include <cooperative_groups.h>
#include <cuda/atomic>
#include <cuda/barrier>
namespace cg = cooperative_groups;

#if BROKEN
#define RIGHT(...)
#define WRONG(...) __VA_ARGS__
#else
#define RIGHT(...) __VA_ARGS__
#define WRONG(...)
#endif

__global__ void blockBarrier(int* out)
{
    __shared__ int s[64];
    const int t = threadIdx.x;
    s[t] = t;
    RIGHT(__syncthreads();)
    out[t] = s[63 - t];
}

__global__ void twoMistakes(int* out)
{
    __shared__ int s[64];
    const int t = threadIdx.x;
    s[t] = t;
    RIGHT(__syncthreads();)
    const int other = s[t ^ 32];
    RIGHT(__syncthreads();)
    s[63 - t] = other;
    __syncthreads();
    out[t] = s[t];
    RIGHT(out[64 + t] = 1;)
    WRONG(out[64] = t;)
}

__global__ void warpBarrier(int* out)
{
    __shared__ int s[32];
    const int t = threadIdx.x;
    s[t] = t;
    __syncwarp();
    int sum = s[t ^ 1];
    sum += __shfl_xor_sync(0xffffffff, sum, 2);  // orders nothing
    RIGHT(__syncwarp();)
    s[t] = sum;
    __syncwarp();
    out[t] = s[31 - t];
}

__global__ void tileBarrier(int* out)
{
    __shared__ int s[32];
    const int t = threadIdx.x;
    const auto tile = cg::tiled_partition<8>(cg::this_thread_block());
    s[t] = t;
    tile.sync();
    out[t] = s[t ^ (RIGHT(7) WRONG(8))];
}

__global__ void gridBarrier(int* out)
{
    if (threadIdx.x == 0) out[blockIdx.x] = blockIdx.x;
    RIGHT(cg::this_grid().sync();)
    WRONG(cg::this_thread_block().sync();)
    if (threadIdx.x == 0) out[gridDim.x + blockIdx.x] = out[gridDim.x - 1 - blockIdx.x];
}

__global__ void objectBarrier(int* out)
{
    __shared__ cuda::barrier<cuda::thread_scope_block> b;
    __shared__ int s[64];
    const int t = threadIdx.x;
    if (t == 0) init(&b, 64);
    __syncthreads();
    s[t] = t;
    auto token = b.arrive();
    RIGHT(b.wait(std::move(token));)
    out[t] = s[63 - t];
    WRONG(b.wait(std::move(token));)
}

__global__ void counter(int* out)
{
    RIGHT(atomicAdd(&out[threadIdx.x % 4], 1);)
    WRONG(out[threadIdx.x % 4] += 1;)
}

__global__ void counterOfBlocks(int* out)
{
    RIGHT(atomicAdd(&out[0], 1);)
    WRONG(atomicAdd_block(&out[0], 1);)
}

__global__ void plainAgainstAtomic(int* out)
{
    atomicAdd(&out[0], 1);
    RIGHT(atomicAdd(&out[0], 1);)
    WRONG(if (threadIdx.x == 5) out[0] = 1;)
}

__global__ void lastBlock(int* out, int* partial, unsigned* finished)
{
    if (threadIdx.x == 0) {
        partial[blockIdx.x] = 1;
        RIGHT(__threadfence();)
        WRONG(__threadfence_block();)
        if (atomicInc(finished, gridDim.x - 1) == gridDim.x - 1) {
            __threadfence();
            for (unsigned b = 0; b < gridDim.x; ++b) out[0] += partial[b];
        }
    }
}

__global__ void fencedByAll(int* out, int* partial, unsigned* finished)
{
    __shared__ bool last;
    partial[blockIdx.x * blockDim.x + threadIdx.x] = 1;
    RIGHT(__threadfence();)
    __syncthreads();
    if (threadIdx.x == 0) last = atomicInc(finished, gridDim.x - 1) == gridDim.x - 1;
    __syncthreads();
    if (last) atomicAdd(out, partial[(blockIdx.x + 1) % gridDim.x * blockDim.x + threadIdx.x]);
}

__global__ void lock(int* out, int* taken)
{
    if (threadIdx.x == 0) {
        while (atomicCAS(taken, 0, 1) != 0) {
        }
        __threadfence();
        out[0] += 1;
        RIGHT(__threadfence();)
        atomicExch(taken, 0);
    }
}

__global__ void flag(int* out, int* ready)
{
    cuda::atomic_ref<int, cuda::thread_scope_device> there(*ready);
    if (threadIdx.x != 0) return;
    if (blockIdx.x == 0) {
        out[0] = 5;
        there.store(1, cuda::std::RIGHT(memory_order_release) WRONG(memory_order_relaxed));
    } else {
        while (there.load(cuda::std::memory_order_acquire) == 0) {
        }
        out[blockIdx.x] = out[0];
    }
}

__global__ void lookBack(int* out, volatile unsigned long long* words)
{
    if (threadIdx.x != 0) return;
    out[blockIdx.x] = blockIdx.x + 1;
    RIGHT(__threadfence();)
    if (blockIdx.x > 0) {
        while (words[blockIdx.x - 1] == 0) {
        }
        __threadfence();
        out[blockIdx.x] += out[blockIdx.x - 1];
        RIGHT(__threadfence();)
    }
    words[blockIdx.x] = 1;
}

__global__ void stepwise(int* out)
{
    __shared__ volatile int s[64];
    const int t = threadIdx.x;
    s[t] = 1;
    __syncthreads();
    if (t < 32) {
        const int sum = s[t] + s[t + 32];
        RIGHT(__syncwarp();)
        s[t] = sum;
        RIGHT(__syncwarp();)
        const int all = s[t] + s[t ^ 16];
        RIGHT(__syncwarp();)
        s[t] = all;
    }
    __syncthreads();
    out[t] = s[0];
}

__global__ void flagInBlock(int* out)
{
    __shared__ volatile int ready;
    __shared__ int value;
    const int t = threadIdx.x;
    if (t == 0) ready = 0;
    __syncthreads();
    if (t == 0) {
        value = 7;
        RIGHT(__threadfence_block();)
        ready = 1;
    }
    if (t == 32) {
        while (ready == 0) {
        }
        __threadfence_block();
        out[0] = value;
    }
}

__global__ void bytes(unsigned char* out)
{
    out[threadIdx.x RIGHT(+ blockIdx.x * 64)] = (unsigned char)blockIdx.x;
}

__global__ void unwritten(int* out)
{
    __shared__ unsigned char s[64];
    const int t = threadIdx.x;
    WRONG(if (t != 7)) s[t] = t;
    __syncthreads();
    out[t] = s[63 - t];
}

__global__ void ownOutput(int* out)
{
    RIGHT(out[threadIdx.x] = 0;)
    out[threadIdx.x] += 1;
}

__global__ void nextArray(int* out)
{
    __shared__ int one[64];
    __shared__ int two[64];
    const int t = threadIdx.x;
    two[t] = 0;
    one[t WRONG(+ 1)] = t;
    __syncthreads();
    out[t] = two[t] + one[t RIGHT(+ 0) WRONG(+ 1)];
}

__global__ void behindArray(const int* in, unsigned char* out)
{
    out[threadIdx.x] = in[threadIdx.x RIGHT(/ 2) WRONG(* 2)];
}

__global__ void pairBehind(const int* in, int* out)
{
    const int2 pair = reinterpret_cast<const int2*>(in)[threadIdx.x RIGHT(/ 2)];
    out[threadIdx.x] = pair.x + pair.y;
}

__global__ void behindDynamic(int* out)
{
    extern __shared__ int s[];
    s[threadIdx.x WRONG(+ 1)] = 1;
    out[threadIdx.x] = s[threadIdx.x WRONG(+ 1)];
}

__global__ void misaligned(const char* in, int* out)
{
    out[threadIdx.x] = *(const int*)(in + 4 * threadIdx.x WRONG(+ 1));
}

__global__ void sameValue(int* out)
{
    RIGHT(if (threadIdx.x == 3)) out[0] = 1;
}

__global__ void inOneOrder(int* out, int* tickets)
{
    const int t = threadIdx.x;
    const int ticket = atomicAdd(tickets, 1);
    if (t == 63 && ticket == 0) out[WRONG(0) RIGHT(1)] = 1;
    if (t == 0) out[2] = out[0];
}

// Thread 32 may look between the two rounds of thread 0, which does not wait for it.
__global__ void betweenRounds(int* out, int* flag)
{
    __shared__ int slot;
    if (threadIdx.x == 0) {
        for (int round = 1; round <= 8; ++round) {
            RIGHT(if (round == 1)) slot = 1;
            __threadfence_block();
            atomicExch(flag, round);
        }
    }
    if (threadIdx.x == 32 && atomicAdd(flag, 0)) {
        __threadfence_block();
        out[0] = slot;
    }
}
