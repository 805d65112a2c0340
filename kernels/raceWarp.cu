// raceWarp: out[w] = sum of the 32 elements of warp w. Broken unless REPAIRED is set.
//
// New: nothing. The code assumes that the lanes of a warp run in lockstep, as before Volta. Now lanes may diverge
//      at any point. With REPAIRED, __syncwarp separates each read from the next write.
// Macros: BLOCK threads per block, REPAIRED 0 or 1, SCALAR element type.
// Constraints: whole warps.

#if !defined(BLOCK) || !defined(REPAIRED) || !defined(SCALAR)
#error "this kernel needs the macros BLOCK, REPAIRED, SCALAR"
#endif

extern "C" __global__ void raceWarp(const SCALAR* in, SCALAR* out)
{
    __shared__ volatile SCALAR sums[BLOCK];
    const int t = threadIdx.x;
    const int i = blockIdx.x * BLOCK + t;

    sums[t] = in[i];
    for (int offset = 16; offset > 0; offset /= 2) {
#if REPAIRED
        __syncwarp();
#endif
        const SCALAR other = sums[t ^ offset];
#if REPAIRED
        __syncwarp();
#endif
        sums[t] = sums[t] + other;
    }
    if (t % 32 == 0) {
        out[i / 32] = sums[t];
    }
}
