// reduceRedux: out[b] = sum of in[i] for i < n in the tiles b, b + gridDim.x, b + 2 * gridDim.x, ..., where a
//      tile is BLOCK * UNROLL vectors of 16 bytes.
//
// New against reduceGridStride: one instruction sums the lanes of a warp, instead of five shuffles and additions.
// Macros: BLOCK threads per block, UNROLL vectors in flight, SCALAR element type.
// Constraints: 32-bit integers; sm_80; whole warps; UNROLL from 1 to 32. An array that is not aligned to 16 bytes is
//      loaded element by element.

#if !defined(BLOCK) || !defined(UNROLL) || !defined(SCALAR)
#error "this kernel needs the macros BLOCK, UNROLL, SCALAR"
#endif
#include "redux.cuh"
#include "strided_sum.cuh"

extern "C" __global__ void reduceRedux(const SCALAR* in, SCALAR* out, long long n)
{
    const SCALAR mine = block_sum<redux>(strided_sum<false>(in, n));  // the loop of reduceGridStride
    if (threadIdx.x == 0) {
        out[blockIdx.x] = mine;
    }
}
