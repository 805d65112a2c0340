// maskNamesAbsent: out[i] = in[i + 8] in the lower half of a warp; the upper half keeps in[i]. Broken unless
//                  REPAIRED is set.
//
// New against maskWithoutCaller: the opposite mistake. Only the lower 16 lanes call the shuffle, with a mask that
//                                also names the upper 16, which are at the barrier: a deadlock. With REPAIRED, the
//                                mask names only the callers.
// Macros: BLOCK threads per block, REPAIRED 0 or 1, SCALAR element type.
// Constraints: whole warps, whole blocks.

#if !defined(BLOCK) || !defined(REPAIRED) || !defined(SCALAR)
#error "this kernel needs the macros BLOCK, REPAIRED, SCALAR"
#endif

extern "C" __global__ void maskNamesAbsent(const SCALAR* in, SCALAR* out)
{
    const int t = threadIdx.x;
    const long long i = (long long)blockIdx.x * BLOCK + t;

    SCALAR value = in[i];
    if (t % 32 < 16) {
        value = __shfl_down_sync(REPAIRED ? 0x0000ffffu : 0xffffffffu, value, 8, 16);
    }
    __syncthreads();
    out[i] = value;
}
