// shflBroadcast: out[i] = in[j], j the lane source % WIDTH of i's segment of WIDTH lanes; outside MASK, in[i].
//
// New against nothing: it is the first of the shuffles. Each lane receives the register of one lane of its segment.
// Macros: BLOCK threads per block, WIDTH lanes per segment, MASK lanes that take part, SCALAR element type.
// Constraints: WIDTH 1, 2, 4, 8, 16 or 32; MASK not empty. A lane that reads one outside MASK, or one that the
//              block does not have, receives an undefined value.

#if !defined(BLOCK) || !defined(WIDTH) || !defined(MASK) || !defined(SCALAR)
#error "this kernel needs the macros BLOCK, WIDTH, MASK, SCALAR"
#endif

extern "C" __global__ void shflBroadcast(const SCALAR* in, SCALAR* out, long long n, int source)
{
    const int t = threadIdx.x;
    const long long i = (long long)blockIdx.x * BLOCK + t;

    SCALAR value = {};  // threads out of range take part: others may name them
    if (i < n) {
        value = in[i];
    }
    if (MASK >> (t % 32) & 1u) {  // a lane that the mask leaves out must not call
        value = __shfl_sync(MASK, value, source, WIDTH);
    }
    if (i < n) {
        out[i] = value;
    }
}
