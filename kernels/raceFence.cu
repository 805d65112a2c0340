// raceFence: out[0] = sum of all in[i]: the last block adds up the blocks' sums. Broken unless REPAIRED is set.
//
// New: nothing. Nothing makes a partial sum visible before the counter that announces it. With REPAIRED, there
//      is a fence between them.
// Macros: BLOCK threads per block, REPAIRED 0 or 1, SCALAR element type.
// Constraints: whole blocks.

#if !defined(BLOCK) || !defined(REPAIRED) || !defined(SCALAR)
#error "this kernel needs the macros BLOCK, REPAIRED, SCALAR"
#endif

extern "C" __global__ void raceFence(const SCALAR* in, SCALAR* out, SCALAR* partial, unsigned int* finished)
{
    __shared__ SCALAR sums[BLOCK];
    const int t = threadIdx.x;

    sums[t] = in[blockIdx.x * BLOCK + t];
    __syncthreads();
    if (t == 0) {
        SCALAR sum = 0;
        for (int k = 0; k < BLOCK; ++k) {
            sum += sums[k];
        }
        partial[blockIdx.x] = sum;
#if REPAIRED
        __threadfence();
#endif
        if (atomicInc(finished, gridDim.x - 1) == gridDim.x - 1) {  // the last block
            __threadfence();
            sum = 0;
            for (unsigned int b = 0; b < gridDim.x; ++b) {
                sum += partial[b];
            }
            out[0] = sum;
        }
    }
}
