// warpReduce: out[i] = sum of in[j] over the segment of WIDTH lanes that i belongs to.
//
// New against warpScan: the butterfly. Each lane of a pair adds the other's sum, so every lane ends with the total.
// Macros: BLOCK threads per block, WIDTH lanes per segment, SCALAR element type.
// Constraints: WIDTH 1, 2, 4, 8, 16 or 32; whole segments, because every lane of one is read.

#if !defined(BLOCK) || !defined(WIDTH) || !defined(SCALAR)
#error "this kernel needs the macros BLOCK, WIDTH, SCALAR"
#endif

extern "C" __global__ void warpReduce(const SCALAR* in, SCALAR* out, long long n)
{
    const int t = threadIdx.x;
    const long long i = (long long)blockIdx.x * BLOCK + t;

    SCALAR sum = i < n ? in[i] : (SCALAR)0;
#pragma unroll
    for (int distance = WIDTH / 2; distance >= 1; distance /= 2) {
        sum += __shfl_xor_sync(0xffffffffu, sum, distance, WIDTH);
    }
    if (i < n) {
        out[i] = sum;
    }
}
