// reduceInFlight: out[b] = sum of in[i] for i in [b * TILE, (b + 1) * TILE), i < n, where TILE is BLOCK * UNROLL
//      vectors of 16 bytes.
//
// New against reduceVector: a thread requests UNROLL vectors before it needs the first. Bandwidth is the bytes in
//      flight divided by the memory latency (Little's law).
// Macros: BLOCK threads per block, UNROLL vectors in flight, SCALAR element type.
// Constraints: whole warps; UNROLL from 1 to 32. An array that is not aligned to 16 bytes is loaded element by
//      element.

#if !defined(BLOCK) || !defined(UNROLL) || !defined(SCALAR)
#error "this kernel needs the macros BLOCK, UNROLL, SCALAR"
#endif
#include "vectors.cuh"

constexpr int TILE = BLOCK * UNROLL * PER_VECTOR;

extern "C" __global__ void reduceInFlight(const SCALAR* in, SCALAR* out, long long n)
{
    const int t = threadIdx.x;
    const long long first = (long long)blockIdx.x * TILE;

    Vector sum = {};
    if (aligned(in) && first + TILE <= n) {  // all threads of a block take the same branch
        const Vector* vectors = (const Vector*)(in + first) + t;
        Vector loaded[UNROLL];
#pragma unroll
        for (int k = 0; k < UNROLL; ++k) {
            loaded[k].whole = vectors[k * BLOCK].whole;
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

    const SCALAR mine = block_sum(total(sum));
    if (t == 0) {
        out[blockIdx.x] = mine;
    }
}
