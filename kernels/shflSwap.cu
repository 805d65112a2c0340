// shflSwap: for two lanes p < q with q = p ^ lane_mask: out[p * PER_THREAD + FIRST] = in[q * PER_THREAD + SECOND], and
//           out[q * PER_THREAD + SECOND] = in[p * PER_THREAD + FIRST]; every other out[i] = in[i].
//           A lane outside MASK, or whose partner is in a later segment of WIDTH lanes, keeps its own elements.
//
// New against shflXorArray: the two lanes exchange elements with different indices. The lower lane swaps its elements
//                           FIRST and SECOND, one shuffle exchanges element SECOND, and the lower lane swaps back.
// Macros: BLOCK threads per block, WIDTH lanes per segment, MASK lanes that participate, PER_THREAD elements per
//         thread, FIRST and SECOND indices in the array, SCALAR element type.
// Constraints: WIDTH 1, 2, 4, 8, 16 or 32; MASK not empty; PER_THREAD from 1 to 32; lane_mask 1, 2, 4, 8 or 16. A
//              lane whose source is outside MASK, or not in the block, receives undefined values.

#if !defined(BLOCK) || !defined(WIDTH) || !defined(MASK) || !defined(PER_THREAD) || !defined(FIRST) || \
    !defined(SECOND) || !defined(SCALAR)
#error "this kernel needs the macros BLOCK, WIDTH, MASK, PER_THREAD, FIRST, SECOND, SCALAR"
#endif

__device__ void swap(SCALAR& a, SCALAR& b)
{
    const SCALAR kept = a;
    a = b;
    b = kept;
}

extern "C" __global__ void shflSwap(const SCALAR* in, SCALAR* out, long long n, int lane_mask)
{
    const int t = threadIdx.x;
    const long long first = ((long long)blockIdx.x * BLOCK + t) * PER_THREAD;

    // All indices are compile-time constants, so the array is in registers.
    SCALAR value[PER_THREAD] = {};  // threads out of range participate: other lanes may read them
#pragma unroll
    for (int k = 0; k < PER_THREAD; ++k) {
        if (first + k < n) {
            value[k] = in[first + k];
        }
    }

    if (MASK >> (t % 32) & 1u) {  // a lane outside the mask must not call
        const bool lower = (t & lane_mask) == 0;
        if (lower) {
            swap(value[FIRST], value[SECOND]);
        }
        value[SECOND] = __shfl_xor_sync(MASK, value[SECOND], lane_mask, WIDTH);
        if (lower) {
            swap(value[FIRST], value[SECOND]);
        }
    }

#pragma unroll
    for (int k = 0; k < PER_THREAD; ++k) {
        if (first + k < n) {
            out[first + k] = value[k];
        }
    }
}
