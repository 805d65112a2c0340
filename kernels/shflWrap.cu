// shflWrap: out[i] = in of lane (t + shift) % WIDTH of the segment of WIDTH lanes that i's thread t belongs to; outside
//           MASK, in[i].
//
// New against shflDown: the segment is a ring, as __shfl_sync takes the source modulo WIDTH; a shift may be negative.
// Macros: BLOCK threads per block, WIDTH lanes per segment, MASK lanes that take part, SCALAR element type.
// Constraints: WIDTH 1, 2, 4, 8, 16 or 32; MASK not empty. A lane that reads one outside MASK, or one that the
//              block does not have, receives an undefined value.

#if !defined(BLOCK) || !defined(WIDTH) || !defined(MASK) || !defined(SCALAR)
#error "this kernel needs the macros BLOCK, WIDTH, MASK, SCALAR"
#endif

extern "C" __global__ void shflWrap(const SCALAR* in, SCALAR* out, long long n, int shift)
{
    const int t = threadIdx.x;
    const long long i = (long long)blockIdx.x * BLOCK + t;

    SCALAR value = {};  // threads out of range take part: others may name them
    if (i < n) {
        value = in[i];
    }
    if (MASK >> (t % 32) & 1u) {  // a lane that the mask leaves out must not call
        value = __shfl_sync(MASK, value, t + shift, WIDTH);
    }
    if (i < n) {
        out[i] = value;
    }
}
