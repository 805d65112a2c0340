// reduceShflUnroll: out[b] = sum of in[i] for i in [b * BLOCK * UNROLL, (b + 1) * BLOCK * UNROLL), i < n,
//                   lane i % 32 in MASK.
//
// New against reduceShfl: a block takes UNROLL blocks of data; each thread adds up UNROLL elements before the shuffles.
// Macros: BLOCK threads per block, UNROLL data blocks per thread block, WIDTH lanes per segment, MASK lanes that
//         participate, SCALAR element type.
// Constraints: whole warps; WIDTH 1, 2, 4, 8, 16 or 32; MASK not empty and made of whole segments; UNROLL from 1 to 64.

#if !defined(BLOCK) || !defined(UNROLL) || !defined(WIDTH) || !defined(MASK) || !defined(SCALAR)
#error "this kernel needs the macros BLOCK, UNROLL, WIDTH, MASK, SCALAR"
#endif

extern "C" __global__ void reduceShflUnroll(const SCALAR* in, SCALAR* out, long long n)
{
    __shared__ SCALAR partial[BLOCK / WIDTH];
    const int t = threadIdx.x;
    const long long first = (long long)blockIdx.x * BLOCK * UNROLL;

    SCALAR sum = 0;
    if (MASK >> (t % 32) & 1u) {  // a lane outside the mask must not call
        // Each of the UNROLL loads has its own guard, so the last block may end anywhere. They do not depend on each
        // other: all can be in flight at once, which makes this kernel fast.
#pragma unroll
        for (int k = 0; k < UNROLL; ++k) {
            const long long i = first + t + (long long)k * BLOCK;
            sum += i < n ? in[i] : (SCALAR)0;
        }
#pragma unroll
        for (int distance = WIDTH / 2; distance > 0; distance /= 2) {
            sum += __shfl_xor_sync(MASK, sum, distance, WIDTH);
        }
    }
    if (t % WIDTH == 0) {
        partial[t / WIDTH] = sum;
    }
    __syncthreads();

    // The first warp adds the sums of the segments. There may be up to BLOCK of them, so each lane takes every 32nd.
    if (t < 32) {
        sum = 0;
        for (int k = t; k < BLOCK / WIDTH; k += 32) {
            sum += partial[k];
        }
#pragma unroll
        for (int distance = 16; distance > 0; distance /= 2) {
            sum += __shfl_xor_sync(0xffffffffu, sum, distance);
        }
        if (t == 0) {
            out[blockIdx.x] = sum;
        }
    }
}
