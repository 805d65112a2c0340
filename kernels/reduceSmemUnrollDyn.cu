// reduceSmemUnrollDyn: out[b] = sum of in[i] for i in [b * BLOCK * UNROLL, (b + 1) * BLOCK * UNROLL), i < n.
//
// New against reduceSmemUnroll: dynamic shared memory.
// Macros: BLOCK threads per block, UNROLL data blocks per thread block, SCALAR element type.
// Constraints: UNROLL from 1 to 64.

#if !defined(BLOCK) || !defined(UNROLL) || !defined(SCALAR)
#error "this kernel needs the macros BLOCK, UNROLL, SCALAR"
#endif

extern "C" __global__ void reduceSmemUnrollDyn(const SCALAR* in, SCALAR* out, long long n)
{
    extern __shared__ SCALAR tile[];  // BLOCK elements
    const int t = threadIdx.x;
    const long long first = (long long)blockIdx.x * BLOCK * UNROLL;

    // Each of the UNROLL loads has its own guard, so the last block may end anywhere. They do not depend on each other:
    // all can be in flight at once, which makes this kernel fast.
    SCALAR sum = 0;
#pragma unroll
    for (int k = 0; k < UNROLL; ++k) {
        const long long i = first + t + (long long)k * BLOCK;
        sum += i < n ? in[i] : (SCALAR)0;
    }
    tile[t] = sum;
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
