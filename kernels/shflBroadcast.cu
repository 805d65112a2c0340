// shflBroadcast: out[i] = in[j], where j is lane src_lane % WIDTH of i's segment of WIDTH lanes. Lanes outside MASK
//                keep in[i].
//
// New: nothing; this is the first shuffle. Each lane receives the register of one lane of its segment.
// Macros: BLOCK threads per block, WIDTH lanes per segment, MASK lanes that participate, SCALAR element type.
// Constraints: WIDTH 1, 2, 4, 8, 16 or 32; MASK not empty. A lane whose source is outside MASK, or not in the
//              block, receives an undefined value.

#if !defined(BLOCK) || !defined(WIDTH) || !defined(MASK) || !defined(SCALAR)
#error "this kernel needs the macros BLOCK, WIDTH, MASK, SCALAR"
#endif

extern "C" __global__ void shflBroadcast(const SCALAR* in, SCALAR* out, long long n, int src_lane)
{
    const int t = threadIdx.x;
    const long long i = (long long)blockIdx.x * BLOCK + t;

    SCALAR value = {};  // threads out of range participate: other lanes may read them
    if (i < n) {
        value = in[i];
    }
    if (MASK >> (t % 32) & 1u) {  // a lane outside the mask must not call
        value = __shfl_sync(MASK, value, src_lane, WIDTH);
    }
    if (i < n) {
        out[i] = value;
    }
}
