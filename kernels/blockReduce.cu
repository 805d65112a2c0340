// blockReduce: out[b] = sum of in[i] for i in [b * BLOCK * PER_THREAD, (b + 1) * BLOCK * PER_THREAD), i < n.
//
// New against reduceShflUnroll: the number of blocks is a parameter, which determines PER_THREAD. Each step of the
//                               tree is a __shfl_down_sync; at the end only lane 0 has the sum.
// Macros: BLOCK threads per block, PER_THREAD elements per thread, SCALAR element type.
// Constraints: whole warps; at least one block.

#if !defined(BLOCK) || !defined(PER_THREAD) || !defined(SCALAR)
#error "this kernel needs the macros BLOCK, PER_THREAD, SCALAR"
#endif

// The sum of the first LANES lanes, in lane 0. The tree starts at the smallest power of two that spans them.
template <int LANES>
__device__ SCALAR warpSum(SCALAR sum)
{
#pragma unroll
    for (int distance = 16; distance >= 1; distance /= 2) {
        if (distance < LANES) {
            sum += __shfl_down_sync(0xffffffffu, sum, distance);
        }
    }
    return sum;
}

extern "C" __global__ void blockReduce(const SCALAR* in, SCALAR* out, long long n)
{
    constexpr int WARPS = BLOCK / 32;
    __shared__ SCALAR partial[WARPS];
    const int t = threadIdx.x;
    const long long first = (long long)blockIdx.x * BLOCK * PER_THREAD;

    // Neighbouring threads read neighbouring elements; the elements of one thread are BLOCK apart.
    SCALAR sum = 0;
#pragma unroll 16
    for (long long k = 0; k < PER_THREAD; ++k) {
        const long long i = first + t + k * BLOCK;
        sum += i < n ? in[i] : (SCALAR)0;
    }

    sum = warpSum<32>(sum);
    if (t % 32 == 0) {
        partial[t / 32] = sum;
    }
    __syncthreads();

    if (t < 32) {
        sum = warpSum<WARPS>(t < WARPS ? partial[t] : (SCALAR)0);
        if (t == 0) {
            out[blockIdx.x] = sum;
        }
    }
}
