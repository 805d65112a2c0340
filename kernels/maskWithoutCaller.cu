// maskWithoutCaller: out[i] = in[i + 8] in the lower half of a warp; the upper half keeps in[i]. Broken unless
//                    REPAIRED is set.
//
// New: nothing. All 32 lanes call the shuffle, with a mask that names only the lower 16. But a mask must name the lane
//      that uses it. (On a GPU the result may look right, which makes the mistake dangerous.) With REPAIRED, only
//      the named lanes call.
// Macros: BLOCK threads per block, REPAIRED 0 or 1, SCALAR element type.
// Constraints: whole warps, whole blocks.

#if !defined(BLOCK) || !defined(REPAIRED) || !defined(SCALAR)
#error "this kernel needs the macros BLOCK, REPAIRED, SCALAR"
#endif

extern "C" __global__ void maskWithoutCaller(const SCALAR* in, SCALAR* out)
{
    const int t = threadIdx.x;
    const long long i = (long long)blockIdx.x * BLOCK + t;

    SCALAR value = in[i];
    if (!REPAIRED || t % 32 < 16) {
        const SCALAR above = __shfl_down_sync(0x0000ffffu, value, 8, 16);
        value = t % 32 < 16 ? above : value;
    }
    out[i] = value;
}
