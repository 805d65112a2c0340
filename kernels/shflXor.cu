// shflXor: out[i] = in of the lane whose number is i's lane ^ lanes % 32, in the same warp, unless that lies in a later
//          segment of WIDTH lanes; outside MASK, in[i].
//
// New against shflWrap: pairs of lanes exchange registers: the butterfly.
// Macros: BLOCK threads per block, WIDTH lanes per segment, MASK lanes that take part, SCALAR element type.
// Constraints: WIDTH 1, 2, 4, 8, 16 or 32; MASK not empty. A lane that reads one outside MASK, or one that the
//              block does not have, receives an undefined value.

#if !defined(BLOCK) || !defined(WIDTH) || !defined(MASK) || !defined(SCALAR)
#error "this kernel needs the macros BLOCK, WIDTH, MASK, SCALAR"
#endif

extern "C" __global__ void shflXor(const SCALAR* in, SCALAR* out, long long n, int lanes)
{
    const int t = threadIdx.x;
    const long long i = (long long)blockIdx.x * BLOCK + t;

    SCALAR value = {};  // threads out of range take part: others may name them
    if (i < n) {
        value = in[i];
    }
    if (MASK >> (t % 32) & 1u) {  // a lane that the mask leaves out must not call
        value = __shfl_xor_sync(MASK, value, lanes, WIDTH);
    }
    if (i < n) {
        out[i] = value;
    }
}
