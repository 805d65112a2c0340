// raceCounter: out[b] = number of elements in[i] with in[i] % 32 == b. Broken unless REPAIRED is set.
//
// New: nothing. Threads of all blocks increment the same counters: a read, an addition and a write. Another thread may
//      write in between. With REPAIRED, the increment is atomic.
// Macros: BLOCK threads per block, REPAIRED 0 or 1, SCALAR element type.
// Constraints: whole blocks.

#if !defined(BLOCK) || !defined(REPAIRED) || !defined(SCALAR)
#error "this kernel needs the macros BLOCK, REPAIRED, SCALAR"
#endif

extern "C" __global__ void raceCounter(const SCALAR* in, SCALAR* out)
{
    const int bin = (unsigned int)in[blockIdx.x * BLOCK + threadIdx.x] % 32;
#if REPAIRED
    atomicAdd(&out[bin], 1);
#else
    out[bin] = out[bin] + 1;
#endif
}
