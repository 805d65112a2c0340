// raceBarrier: out[i] = in[j], where j mirrors i within the block. Broken unless REPAIRED is set.
//
// New: nothing. A thread reads what another warp has written to shared memory, with no __syncthreads in between. On
//      device=cpu and on a GPU the values may be right. With REPAIRED, the barrier is there.
// Macros: BLOCK threads per block, REPAIRED 0 or 1, SCALAR element type.
// Constraints: whole blocks.

#if !defined(BLOCK) || !defined(REPAIRED) || !defined(SCALAR)
#error "this kernel needs the macros BLOCK, REPAIRED, SCALAR"
#endif

extern "C" __global__ void raceBarrier(const SCALAR* in, SCALAR* out)
{
    __shared__ SCALAR tile[BLOCK];
    const int t = threadIdx.x;
    const int i = blockIdx.x * BLOCK + t;

    tile[t] = in[i];
#if REPAIRED
    __syncthreads();
#endif
    out[i] = tile[BLOCK - 1 - t];
}
