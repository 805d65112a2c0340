#include "planted.cuh"

// Running sums by one block. Variants: 1 scanned in pairs, 2 in double precision, 3 Kahan. Defects: those of
// `left_out`; 6 a chunk does not get the sum of those before it, 7 exclusive sums.
extern "C" __global__ void plantedPrefix(const SCALAR* x, SCALAR* out, int n, int variant, int defect)
{
    __shared__ SCALAR partial[BLOCK];
    __shared__ double wide[BLOCK];
    const int t = threadIdx.x, chunk = (n + BLOCK - 1) / BLOCK, first = t * chunk, end = min(n, first + chunk);
    SCALAR sum = 0;
    double sums = 0;
    for (int i = first; i < end; ++i) {
        if (left_out(i, n, defect)) continue;
        sum += x[i];
        sums += x[i];
    }
    partial[t] = sum;
    wide[t] = sums;
    __syncthreads();
    SCALAR before = 0;
    double before_wide = 0;
    for (int k = 0; k < t; ++k) {
        before += partial[variant == 1 ? t - 1 - k : k];
        before_wide += wide[k];
    }
    if (defect == 6 && t == 200) before = 0;
    SCALAR lost = 0;
    for (int i = first; i < end; ++i) {
        const SCALAR value = left_out(i, n, defect) ? SCALAR(0) : x[i];
        if (defect == 7) out[i] = before;
        if (variant == 3) {
            const SCALAR y = value - lost, s = before + y;
            lost = (s - before) - y;
            before = s;
        } else {
            before += value;
        }
        before_wide += value;
        if (defect != 7) out[i] = variant == 2 ? SCALAR(before_wide) : before;
    }
}
