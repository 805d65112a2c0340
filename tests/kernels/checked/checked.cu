// Small kernels for each rule of the checked device; BROKEN is 0 or 1, and stands for one line.
#include <cooperative_groups.h>
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

__global__ void gridBarrier(int* out)
{
    if (threadIdx.x == 0) out[blockIdx.x] = blockIdx.x;
    RIGHT(cg::this_grid().sync();)
    WRONG(cg::this_thread_block().sync();)
    if (threadIdx.x == 0) out[gridDim.x + blockIdx.x] = out[gridDim.x - 1 - blockIdx.x];
}

__global__ void counter(int* out)
{
    RIGHT(atomicAdd(&out[threadIdx.x % 4], 1);)
    WRONG(out[threadIdx.x % 4] += 1;)
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

__global__ void unwritten(int* out)
{
    __shared__ unsigned char s[64];
    const int t = threadIdx.x;
    WRONG(if (t != 7)) s[t] = t;
    __syncthreads();
    out[t] = s[63 - t];
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

struct alignas(16) Numbers {
    int of[8];
};

__global__ void sameStructure(Numbers* out)
{
    const Numbers made = {{1, 2, 3, 4, 5, 6, 7, 8}};
    RIGHT(if (threadIdx.x == 3)) out[0] = made;
}

struct Padded {
    double value;
    int at;
    __device__ Padded() {}
};

__global__ void paddedStructures(double* out)
{
    const int t = threadIdx.x;
    __shared__ Padded all[64];
    all[t].value = t;
    RIGHT(all[t].at = t;)
    __syncthreads();
    const Padded read = all[63 - t];
    out[t] = read.value + read.at;
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
