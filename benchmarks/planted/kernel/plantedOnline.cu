#include "rows.cuh"

__device__ inline float exp2_of(float x) { return exp2f(x); }
__device__ inline double exp2_of(double x) { return exp2(x); }

// An online softmax of rows: each thread keeps the largest element and a sum relative to it, which it scales when the
// largest grows. Variants: 1 from the last on, 2 one thread, 3 the largest first, 4 by exp2, 5 in double precision.
// Defects: those of `skipped`, in the sums; 6 a sum is not scaled, 7 the threads' sums are not.
template <class Sum>
__device__ void online(const SCALAR* from, SCALAR* out, int n, int total, int variant, int defect)
{
    __shared__ Sum peaks[BLOCK];
    __shared__ Sum sums[BLOCK];
    const int t = threadIdx.x, step = variant == 2 ? 1 : BLOCK, first = variant == 2 && t > 0 ? n : t;
    const Sum unit = variant == 4 ? Sum(1.4426950408889634) : Sum(1);
    auto power = [=](Sum x) { return variant == 4 ? exp2_of(x) : exp(x); };
    Sum peak = -INFINITY, sum = 0;
    if (variant == 3)
        for (int i = 0; i < n; ++i) peak = fmax(peak, Sum(wide(from[i])));
    for (int k = first; k < n; k += step) {
        const int i = variant == 1 ? n - 1 - k : k;
        const Sum x = Sum(wide(from[i])) * unit;
        const Sum grown = fmax(peak, x);
        if (peak > -INFINITY && defect != 6) sum *= power(peak - grown);
        if (!skipped(i, n, defect)) sum += power(x - grown);
        peak = grown;
    }
    peaks[t] = peak;
    sums[t] = sum;
    __syncthreads();
    peak = -INFINITY;
    sum = 0;
    for (int k = 0; k < BLOCK; ++k) peak = fmax(peak, peaks[k]);
    for (int k = 0; k < BLOCK; ++k)
        if (peaks[k] > -INFINITY) sum += defect == 7 ? sums[k] : sums[k] * power(peaks[k] - peak);
    for (int i = t; i < n; i += BLOCK)
        store(out, blockIdx.x * n + i, total, Wide(power(Sum(wide(from[i])) * unit - peak) / sum), defect);
}

extern "C" __global__ void plantedOnline(const SCALAR* x, SCALAR* out, int n, int total, int variant, int defect)
{
    if (variant == 5) online<double>(x + blockIdx.x * n, out, n, total, variant, defect);
    else online<Wide>(x + blockIdx.x * n, out, n, total, variant, defect);
}
