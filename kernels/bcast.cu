// bcast: out[i] = value, which at first only lane 0 of each warp has.
//
// New: nothing; this is the smallest use of a shuffle. Every lane reads lane 0's register.
// Macros: BLOCK threads per block, SCALAR element type.
// Constraints: a one-dimensional block, so that every warp has a lane 0.

#if !defined(BLOCK) || !defined(SCALAR)
#error "this kernel needs the macros BLOCK, SCALAR"
#endif

extern "C" __global__ void bcast(SCALAR* out, long long n, SCALAR value)
{
    const int t = threadIdx.x;
    const long long i = (long long)blockIdx.x * BLOCK + t;

    SCALAR mine = 0;
    if (t % 32 == 0) {
        mine = value;  // the shuffle reads no other lane's register
    }
    mine = __shfl_sync(0xffffffffu, mine, 0);
    if (i < n) {
        out[i] = mine;
    }
}
