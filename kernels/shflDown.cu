// shflDown: out[i] = in[i + delta] if that is in the same segment of WIDTH lanes. Otherwise, and outside MASK, lanes
//           keep in[i].
//
// New against shflUp: the source is `delta` lanes above.
// Macros: BLOCK threads per block, WIDTH lanes per segment, MASK lanes that participate, SCALAR element type.
// Constraints: WIDTH 1, 2, 4, 8, 16 or 32; MASK not empty. A lane whose source is outside MASK, or not in the
//              block, receives an undefined value.

#if !defined(BLOCK) || !defined(WIDTH) || !defined(MASK) || !defined(SCALAR)
#error "this kernel needs the macros BLOCK, WIDTH, MASK, SCALAR"
#endif

extern "C" __global__ void shflDown(const SCALAR* in, SCALAR* out, long long n, unsigned int delta)
{
    const int t = threadIdx.x;
    const long long i = (long long)blockIdx.x * BLOCK + t;

    SCALAR value = {};  // threads out of range participate: other lanes may read them
    if (i < n) {
        value = in[i];
    }
    if (MASK >> (t % 32) & 1u) {  // a lane outside the mask must not call
        value = __shfl_down_sync(MASK, value, delta, WIDTH);
    }
    if (i < n) {
        out[i] = value;
    }
}
