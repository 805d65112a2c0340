// reducePacked: out[0] = sum of in[i] for i < n, in one launch.
//
// New against reduceFlagged: integers can be added in any order. One 64-bit atomic addition carries both the sum and
//      the number of finished blocks, so the last block knows the sum and there are no partial sums (packed.cuh). One
//      instruction sums a warp, as in reduceRedux.
// Macros: BLOCK threads per block, UNROLL vectors in flight, STREAM 1 to use streaming loads, SCALAR element type.
// Constraints: 32-bit integers; sm_80; whole warps; UNROLL from 1 to 32. An array that is not aligned to 16 bytes is
//      loaded element by element.

#if !defined(BLOCK) || !defined(UNROLL) || !defined(STREAM) || !defined(SCALAR)
#error "this kernel needs the macros BLOCK, UNROLL, STREAM, SCALAR"
#endif
#include "packed.cuh"
#include "redux.cuh"
#include "strided_sum.cuh"

extern "C" __global__ void reducePacked(const SCALAR* in, SCALAR* out, unsigned long long* accumulated, long long n)
{
    const SCALAR mine = block_sum<redux>(strided_sum<STREAM>(in, n));  // the loop of reduceGridStride
    if (threadIdx.x == 0) {
        add_packed(mine, accumulated, out);
    }
}
