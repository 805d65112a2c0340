// shflSwap: of two lanes p and q = p ^ lanes, p < q: out[p * PER_THREAD + FIRST] = in[q * PER_THREAD + SECOND], and
//           out[q * PER_THREAD + SECOND] = in[p * PER_THREAD + FIRST]; every other out[i] = in[i].
//           A lane that MASK leaves out, or whose partner lies in a later segment of WIDTH lanes, keeps its own.
//
// New against shflXorArray: the two lanes exchange elements of different places. The lower lane brings its FIRST to the
//                           place SECOND, one shuffle exchanges that place, and the lower lane brings it back.
// Macros: BLOCK threads per block, WIDTH lanes per segment, MASK lanes that take part, PER_THREAD elements of a thread,
//         FIRST and SECOND places in the array, SCALAR element type.
// Constraints: WIDTH 1, 2, 4, 8, 16 or 32; MASK not empty; PER_THREAD from 1 to 32; lanes 1, 2, 4, 8 or 16. A lane that
//              reads one outside MASK, or one that the block does not have, receives undefined values.

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

extern "C" __global__ void shflSwap(const SCALAR* in, SCALAR* out, long long n, int lanes)
{
    const int t = threadIdx.x;
    const long long first = ((long long)blockIdx.x * BLOCK + t) * PER_THREAD;

    // All indices are known when this is compiled, so the array lives in registers.
    SCALAR value[PER_THREAD] = {};  // threads out of range take part: others may name them
#pragma unroll
    for (int k = 0; k < PER_THREAD; ++k) {
        if (first + k < n) {
            value[k] = in[first + k];
        }
    }

    if (MASK >> (t % 32) & 1u) {  // a lane that the mask leaves out must not call
        const bool lower = (t & lanes) == 0;
        if (lower) {
            swap(value[FIRST], value[SECOND]);
        }
        value[SECOND] = __shfl_xor_sync(MASK, value[SECOND], lanes, WIDTH);
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
