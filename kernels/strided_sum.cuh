// A thread's sum over its part of an array, in a grid-stride loop over tiles: the loop of reduceGridStride.
// It needs the macros BLOCK, UNROLL and SCALAR.
#pragma once
#include "vectors.cuh"

constexpr int TILE = BLOCK * UNROLL * PER_VECTOR;

// Loads 16 bytes. `__ldcs` marks them as not needed again, so L2 evicts them first.
template <bool STREAMING>
__device__ inline int4 load(const int4* address)
{
    return STREAMING ? __ldcs(address) : *address;
}

template <bool STREAMING>
__device__ inline SCALAR strided_sum(const SCALAR* in, long long n)
{
    const int t = threadIdx.x;
    Vector sum = {};
    for (long long first = (long long)blockIdx.x * TILE; first < n; first += (long long)gridDim.x * TILE) {
        if (aligned(in) && first + TILE <= n) {  // all threads of a block take the same branch
            const Vector* mine = (const Vector*)(in + first) + t;
            Vector loaded[UNROLL];
#pragma unroll
            for (int k = 0; k < UNROLL; ++k) {
                loaded[k].whole = load<STREAMING>(&mine[k * BLOCK].whole);
            }
#pragma unroll
            for (int k = 0; k < UNROLL; ++k) {
                add(sum, loaded[k]);
            }
        } else {
            for (long long i = first + t; i < n && i < first + TILE; i += BLOCK) {
                sum.element[0] += in[i];
            }
        }
    }
    return total(sum);
}
