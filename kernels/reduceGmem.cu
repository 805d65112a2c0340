// reduceGmem: out[b] = sum of in[i] for i in [b * BLOCK, (b + 1) * BLOCK), i < n.
//
// New: nothing; this is the first step. Each block reduces its elements in place in global memory, with one barrier
// per step.
// Macros: BLOCK threads per block, SCALAR element type.
// Constraints: a one-dimensional block; its size need not be a power of two.

#if !defined(BLOCK) || !defined(SCALAR)
#error "this kernel needs the macros BLOCK, SCALAR"
#endif

extern "C" __global__ void reduceGmem(SCALAR* in, SCALAR* out, long long n)
{
    const int t = threadIdx.x;
    const long long first = (long long)blockIdx.x * BLOCK;
    SCALAR* mine = in + first;
    const long long present = n - first;  // more than BLOCK in all but the last block

    // Each step adds the upper half to the lower. If the number is odd, the middle element waits for the next step.
    // Every thread reaches every barrier, even if it has nothing left to add.
    for (int active = BLOCK; active > 1;) {
        const int half = (active + 1) / 2;
        if (t < active / 2 && t + half < present) {
            mine[t] += mine[t + half];
        }
        active = half;
        __syncthreads();
    }

    if (t == 0) {
        out[blockIdx.x] = mine[0];
    }
}
