// What test_checked.py needs besides tests/kernels/races. BROKEN is 0 or 1.
#include <cuda_pipeline.h>

#if BROKEN
#define RIGHT(...)
#define WRONG(...) __VA_ARGS__
#else
#define RIGHT(...) __VA_ARGS__
#define WRONG(...)
#endif

__global__ void copied(const int* in, int* out)
{
    __shared__ int s[64];
    const int t = threadIdx.x;
    __pipeline_memcpy_async(&s[t], &in[t], sizeof(int));
    __pipeline_commit();
    RIGHT(__pipeline_wait_prior(0);)
    __syncthreads();
    out[t] = s[63 - t];
}

__global__ void beforeOne(const int* in, int* out)
{
    __shared__ int one[64];
    __shared__ int two[64];
    const int t = threadIdx.x;
    one[t] = two[t] = in[t];
    __syncthreads();
    out[t] = one[63 - t WRONG(- 400)] + two[63 - t];
}

__global__ void beforeTwo(const int* in, int* out)
{
    __shared__ int one[64];
    __shared__ int two[64];
    const int t = threadIdx.x;
    one[t] = two[t] = in[t];
    __syncthreads();
    out[t] = one[63 - t] + two[63 - t WRONG(- 400)];
}

__global__ void afterTheLoop(const int* in, int* out)
{
    __shared__ int s[64];
    const int t = threadIdx.x;
    int sum = 0;
    for (int round = 0; round < 3; ++round) {
        s[t] = in[t] + round;
        __syncthreads();
        sum += s[63 - t];
        RIGHT(__syncthreads();)
    }
    out[t] = sum;
}
