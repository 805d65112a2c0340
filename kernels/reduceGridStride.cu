// reduceGridStride: out[b] = sum of in[i] for i < n in the tiles b, b + gridDim.x, b + 2 * gridDim.x, ..., where a
//      tile is BLOCK * UNROLL vectors of 16 bytes.
//
// New against reduceInFlight: the number of blocks is a parameter, and each block loops over tiles with a stride of
//      the grid. If all blocks are resident at once, no block starts late, and there are fewer partial sums.
// Macros: BLOCK threads per block, UNROLL vectors in flight, SCALAR element type.
// Constraints: whole warps; UNROLL from 1 to 32. An array that is not aligned to 16 bytes is loaded element by
//      element.

#if !defined(BLOCK) || !defined(UNROLL) || !defined(SCALAR)
#error "this kernel needs the macros BLOCK, UNROLL, SCALAR"
#endif
#include "vectors.cuh"

constexpr int TILE = BLOCK * UNROLL * PER_VECTOR;

extern "C" __global__ void reduceGridStride(const SCALAR* in, SCALAR* out, long long n)
{
    const int t = threadIdx.x;

    Vector sum = {};
    for (long long first = (long long)blockIdx.x * TILE; first < n; first += (long long)gridDim.x * TILE) {
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
    }

    const SCALAR mine = block_sum(total(sum));
    if (t == 0) {
        out[blockIdx.x] = mine;
    }
}
