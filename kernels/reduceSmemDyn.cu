// reduceSmemDyn: out[b] = sum of in[i] for i in [b * BLOCK, (b + 1) * BLOCK), i < n.
//
// New against reduceSmem: the launch, not the source, sets the size of the shared memory (dynamic).
// Macros: BLOCK threads per block, SCALAR element type.
// Constraints: a one-dimensional block; its size need not be a power of two.

#if !defined(BLOCK) || !defined(SCALAR)
#error "this kernel needs the macros BLOCK, SCALAR"
#endif

extern "C" __global__ void reduceSmemDyn(const SCALAR* in, SCALAR* out, long long n)
{
    extern __shared__ SCALAR tile[];  // BLOCK elements
    const int t = threadIdx.x;
    const long long i = (long long)blockIdx.x * BLOCK + t;

    tile[t] = i < n ? in[i] : (SCALAR)0;  // threads out of range add 0 and do not exit: the barriers need them
    __syncthreads();

    // Each step adds the upper half to the lower. If the number is odd, the middle element waits for the next step.
    // Every thread reaches every barrier, even if it has nothing left to add.
    for (int active = BLOCK; active > 1;) {
        const int half = (active + 1) / 2;
        if (t < active / 2) {
            tile[t] += tile[t + half];
        }
        active = half;
        __syncthreads();
    }

    if (t == 0) {
        out[blockIdx.x] = tile[0];
    }
}
