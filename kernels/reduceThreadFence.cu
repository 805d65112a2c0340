// reduceThreadFence: out[0] = sum of in[i] for i < n, in one launch.
//
// New against reduceSmemUnroll: the last block to finish, not the host, adds up the partial sums. A memory fence makes
//                               the other blocks' sums visible to it.
// Macros: BLOCK threads per block, UNROLL data blocks per thread block, SCALAR element type.
// Constraints: UNROLL from 1 to 64.

#if !defined(BLOCK) || !defined(UNROLL) || !defined(SCALAR)
#error "this kernel needs the macros BLOCK, UNROLL, SCALAR"
#endif

// The steps of reduceSmem; every thread reaches every barrier.
__device__ SCALAR folded(SCALAR* tile, int t, SCALAR sum)
{
    tile[t] = sum;
    __syncthreads();
    for (int active = BLOCK; active > 1;) {
        const int half = (active + 1) / 2;
        if (t < active / 2) {
            tile[t] += tile[t + half];
        }
        active = half;
        __syncthreads();
    }
    return tile[0];
}

extern "C" __global__ void reduceThreadFence(const SCALAR* in, SCALAR* out, volatile SCALAR* partial,
                                             unsigned int* finished, long long n)
{
    __shared__ SCALAR tile[BLOCK];
    __shared__ bool last;
    const int t = threadIdx.x;

    SCALAR sum = 0;
#pragma unroll
    for (int k = 0; k < UNROLL; ++k) {
        const long long i = (long long)blockIdx.x * BLOCK * UNROLL + t + (long long)k * BLOCK;
        sum += i < n ? in[i] : (SCALAR)0;
    }
    sum = folded(tile, t, sum);

    if (t == 0) {
        partial[blockIdx.x] = sum;
        __threadfence();  // a thread that sees the counter below also sees the partial sum
        last = atomicInc(finished, gridDim.x - 1) == gridDim.x - 1;  // the last block resets it to 0
    }
    __syncthreads();
    if (last) {
        sum = 0;
        for (unsigned int b = t; b < gridDim.x; b += BLOCK) {  // a fixed order makes float sums reproducible
            sum += partial[b];
        }
        sum = folded(tile, t, sum);
        if (t == 0) {
            out[0] = sum;
        }
    }
}
