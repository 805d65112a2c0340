#include "planted.cuh"

// Running sums by one block. Variants: 1 the blocks before from the last on, 2 in double precision, 3 Kahan,
// 4 Hillis and Steele's scan of the chunks, 5 Neumaier, 6 the chunks' sums in double precision, 7 from a chunk's own sums. Defects: those of
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
    if (variant == 4) {
        for (int step = 1; step < BLOCK; step *= 2) {
            const SCALAR below = t >= step ? partial[t - step] : SCALAR(0);
            __syncthreads();
            partial[t] += below;
            __syncthreads();
        }
        before = t > 0 ? partial[t - 1] : SCALAR(0);
    }
    if (variant == 6) before = SCALAR(before_wide);
    const SCALAR start = before;
    SCALAR own = 0;
    Corrected corrected;
    corrected.sum = before;
    if (defect == 6 && t == 200) before = 0;
    for (int i = first; i < end; ++i) {
        const SCALAR value = left_out(i, n, defect) ? SCALAR(0) : x[i];
        if (defect == 7) out[i] = before;
        if (variant == 3) {
            corrected.kahan(value);
            before = corrected.sum;
        } else if (variant == 5) {
            corrected.neumaier(value);
            before = corrected.sum + corrected.lost;
        } else if (variant == 7) {
            own += value;
            before = start + own;
        } else {
            before += value;
        }
        before_wide += value;
        if (defect != 7) out[i] = variant == 2 ? SCALAR(before_wide) : before;
    }
}
