// warpScan: out[i] = sum of in[j] for j from the start of i's segment of WIDTH lanes up to i.
//
// New against bcast: several steps. After the step of distance d, a lane holds the sum of the 2d lanes that end at it
//                    (Hillis and Steele's inclusive scan), so log2(WIDTH) steps suffice.
// Macros: BLOCK threads per block, WIDTH lanes per segment, SCALAR element type.
// Constraints: WIDTH 1, 2, 4, 8, 16 or 32; a block may end with a partial warp, because lanes only read lower lanes.

#if !defined(BLOCK) || !defined(WIDTH) || !defined(SCALAR)
#error "this kernel needs the macros BLOCK, WIDTH, SCALAR"
#endif

extern "C" __global__ void warpScan(const SCALAR* in, SCALAR* out, long long n)
{
    const int t = threadIdx.x;
    const long long i = (long long)blockIdx.x * BLOCK + t;

    SCALAR sum = i < n ? in[i] : (SCALAR)0;
#pragma unroll
    for (int distance = 1; distance < WIDTH; distance *= 2) {
        // Every lane shuffles, even one that adds nothing: other lanes may read its register.
        const SCALAR below = __shfl_up_sync(0xffffffffu, sum, distance, WIDTH);
        if (t % WIDTH >= distance) {
            sum += below;
        }
    }
    if (i < n) {
        out[i] = sum;
    }
}
