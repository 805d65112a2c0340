// barrierDivergent: out[i] = in[j], where j mirrors i within the block. Broken unless REPAIRED is set.
//
// New: nothing. Even threads wait at one __syncthreads and odd threads at another. A barrier in a branch is only
//      allowed if the whole block takes that branch. With REPAIRED, all threads wait at the same barrier.
// Macros: BLOCK threads per block, REPAIRED 0 or 1, SCALAR element type.
// Constraints: whole blocks.

#if !defined(BLOCK) || !defined(REPAIRED) || !defined(SCALAR)
#error "this kernel needs the macros BLOCK, REPAIRED, SCALAR"
#endif

extern "C" __global__ void barrierDivergent(const SCALAR* in, SCALAR* out)
{
    __shared__ SCALAR tile[BLOCK];
    const int t = threadIdx.x;
    const long long i = (long long)blockIdx.x * BLOCK + t;

    tile[t] = in[i];
#if REPAIRED
    __syncthreads();
#else
    if (t % 2 == 0) {
        __syncthreads();
    } else {
        __syncthreads();
    }
#endif
    out[i] = tile[BLOCK - 1 - t];
}
