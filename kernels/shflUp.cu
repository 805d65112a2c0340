// shflUp: out[i] = in[i - distance] of the same segment of WIDTH lanes; at its start, and outside MASK, in[i].
//
// New against shflBroadcast: each lane has its own source, `distance` lanes below it.
// Macros: BLOCK threads per block, WIDTH lanes per segment, MASK lanes that take part, SCALAR element type.
// Constraints: WIDTH 1, 2, 4, 8, 16 or 32; MASK not empty. A lane that reads one outside MASK, or one that the
//              block does not have, receives an undefined value.

#if !defined(BLOCK) || !defined(WIDTH) || !defined(MASK) || !defined(SCALAR)
#error "this kernel needs the macros BLOCK, WIDTH, MASK, SCALAR"
#endif

extern "C" __global__ void shflUp(const SCALAR* in, SCALAR* out, long long n, unsigned int distance)
{
    const int t = threadIdx.x;
    const long long i = (long long)blockIdx.x * BLOCK + t;

    SCALAR value = {};  // threads out of range take part: others may name them
    if (i < n) {
        value = in[i];
    }
    if (MASK >> (t % 32) & 1u) {  // a lane that the mask leaves out must not call
        value = __shfl_up_sync(MASK, value, distance, WIDTH);
    }
    if (i < n) {
        out[i] = value;
    }
}
