// stencil1dLdg: out[i] = sum over k = 1 ... 4 of coefficient[k] * (in[i + k] - in[i - k]).
// Elements outside the array count as 0.
//
// New against stencil1dConstant: the coefficients are in global memory; __ldg reads them through the read-only cache.
// Macros: BLOCK threads per block, SCALAR element type.
// Constraints: at least 4 threads per block, because the first 4 load the halo.

#if !defined(BLOCK) || !defined(SCALAR)
#error "this kernel needs the macros BLOCK, SCALAR"
#endif

constexpr int RADIUS = 4;

extern "C" __global__ void stencil1dLdg(const SCALAR* in, SCALAR* out, const SCALAR* coefficient, long long n)
{
    __shared__ SCALAR tile[BLOCK + 2 * RADIUS];
    const int t = threadIdx.x;
    const int s = t + RADIUS;
    const long long step = (long long)gridDim.x * BLOCK;

    // All threads of a block execute the same number of iterations, so that all reach its barriers.
    for (long long first = (long long)blockIdx.x * BLOCK; first < n; first += step) {
        const long long i = first + t;
        tile[s] = i < n ? in[i] : (SCALAR)0;
        if (t < RADIUS) {
            tile[s - RADIUS] = i >= RADIUS ? in[i - RADIUS] : (SCALAR)0;
            tile[s + BLOCK] = i + BLOCK < n ? in[i + BLOCK] : (SCALAR)0;
        }
        __syncthreads();

        SCALAR sum = 0;
#pragma unroll
        for (int k = 1; k <= RADIUS; ++k) {
            sum += __ldg(&coefficient[k]) * (tile[s + k] - tile[s - k]);
        }
        if (i < n) {
            out[i] = sum;
        }
        __syncthreads();  // no thread may load the next tile while another still reads this one
    }
}
