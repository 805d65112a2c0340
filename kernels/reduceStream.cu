// reduceStream: out[0] = sum of in[i] for i < n, in one launch; bitwise reproducible for floats.
//
// New against reduceLastBlock: the loads are streaming loads. Their lines are evicted first, so other data stays in
//      L2.
// Macros: BLOCK threads per block, UNROLL vectors in flight, SCALAR element type.
// Constraints: whole warps; UNROLL from 1 to 32. An array that is not aligned to 16 bytes is loaded element by
//      element.

#if !defined(BLOCK) || !defined(UNROLL) || !defined(SCALAR)
#error "this kernel needs the macros BLOCK, UNROLL, SCALAR"
#endif
#include "strided_sum.cuh"

extern "C" __global__ void reduceStream(const SCALAR* in, SCALAR* out, volatile SCALAR* partial,
                                        unsigned int* finished, long long n)
{
    __shared__ bool last;
    const int t = threadIdx.x;
    const SCALAR mine = block_sum(strided_sum<true>(in, n));  // the loop of reduceGridStride
    if (t == 0) {
        partial[blockIdx.x] = mine;
        __threadfence();  // a thread that sees the counter below also sees the partial sum
        last = atomicInc(finished, gridDim.x - 1) == gridDim.x - 1;  // the last block resets it to 0
    }
    __syncthreads();

    if (last) {
        SCALAR sum = 0;
#pragma unroll 8
        for (unsigned int b = t; b < gridDim.x; b += BLOCK) {  // a fixed order makes float sums reproducible
            sum += partial[b];
        }
        sum = block_sum(sum);
        if (t == 0) {
            out[0] = sum;
        }
    }
}
