// Shared by the reductions with vector loads: 16-byte vectors, and the sum over a block.
// They need the macros BLOCK and SCALAR.
#pragma once

// 16 bytes, which one instruction loads.
union Vector {
    int4 whole;
    SCALAR element[16 / sizeof(SCALAR)];
};
constexpr int PER_VECTOR = 16 / sizeof(SCALAR);

// Whether an address is aligned for vector loads; an array may begin anywhere.
__device__ inline bool aligned(const SCALAR* address)
{
    return (unsigned long long)address % sizeof(Vector) == 0;
}

// Adds element by element, which gives independent sums: a single sum would serialize the additions.
__device__ inline void add(Vector& sum, const Vector& more)
{
#pragma unroll
    for (int e = 0; e < PER_VECTOR; ++e) {
        sum.element[e] += more.element[e];
    }
}

__device__ inline SCALAR total(Vector sum)
{
#pragma unroll
    for (int half = PER_VECTOR / 2; half > 0; half /= 2) {
#pragma unroll
        for (int e = 0; e < half; ++e) {
            sum.element[e] += sum.element[e + half];
        }
    }
    return sum.element[0];
}

// The sum over the lanes of a warp, in all lanes; by shuffles, as in reduceShfl.
__device__ inline SCALAR warp_sum(SCALAR sum)
{
#pragma unroll
    for (int distance = 16; distance > 0; distance /= 2) {
        sum += __shfl_xor_sync(0xffffffffu, sum, distance);
    }
    return sum;
}

// The sum over the block, in the first warp. All threads must reach a barrier between two calls.
template <SCALAR (*OVER_A_WARP)(SCALAR) = warp_sum>
__device__ inline SCALAR block_sum(SCALAR sum)
{
    __shared__ SCALAR partial[BLOCK / 32];
    const int t = threadIdx.x;
    sum = OVER_A_WARP(sum);
    if (t % 32 == 0) {
        partial[t / 32] = sum;
    }
    __syncthreads();
    return t < 32 ? OVER_A_WARP(t < BLOCK / 32 ? partial[t] : (SCALAR)0) : sum;
}
