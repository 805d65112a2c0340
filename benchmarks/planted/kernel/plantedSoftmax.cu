#include "planted.cuh"

// exp(x) / sum(exp(x)) of rows of BLOCK elements. Variants: 1 the maximum taken off, 2 in double precision, 3 a product
// with the reciprocal, 4 exp as inexact as expf may be, 5 as inexact as __expf, 6 added from the last
// column on, 7 Kahan, 8 added in pairs, 9 half the terms at a time.
// Defects: 6 the sum without the last column, 7 a coarse exp, 8 one lane takes another row's sum.
extern "C" __global__ void plantedSoftmax(const SCALAR* x, SCALAR* out, int n, int variant, int defect)
{
    __shared__ SCALAR term[BLOCK];
    __shared__ SCALAR most[BLOCK];
    const int t = threadIdx.x, i = blockIdx.x * BLOCK + t;
    most[t] = x[i];
    __syncthreads();
    SCALAR peak = 0;
    if (variant == 1) {
        for (int k = 0; k < BLOCK; ++k) peak = fmax(peak, most[k]);
    }
    SCALAR e = exp(x[i] - peak);
    if (variant == 2) e = SCALAR(exp(double(x[i])));
    if (variant == 4) e = moved(e, t % 3 - 1);
    if (variant == 5) e = moved(e, t % 2 ? 1 + int(1.173 * fabs(double(x[i]))) : -1);
    if (defect == 7) {
        const SCALAR v = x[i];
        e = 1 + v * (1 + v / 2 * (1 + v / 3 * (1 + v / 4 * (1 + v / 5))));
    }
    term[t] = e;
    __syncthreads();
    SCALAR sum = 0, other = 0;
    Corrected corrected;
    double wide = 0;
    const int columns = defect == 6 ? BLOCK - 1 : BLOCK;
    if (variant == 2) {
        for (int k = 0; k < columns; ++k) wide += term[k];
    } else if (variant == 7) {
        for (int k = 0; k < columns; ++k) corrected.kahan(term[k]);
        sum = corrected.sum;
    } else if (variant == 6) {
        for (int k = columns - 1; k >= 0; --k) sum += term[k];
    } else if (variant == 9) {
        for (int k = 0; k < columns; k += 2) {
            sum += term[k];
            other += term[k + 1];
        }
        sum += other;
    } else {
        for (int k = 0; k < columns; ++k) sum += term[k];
    }
    if (variant == 8) {
        __syncthreads();
        for (int half = BLOCK / 2; half > 0; half /= 2) {
            if (t < half) term[t] += term[t + half];
            __syncthreads();
        }
        sum = term[0];
    }
    if (defect == 8 && i == n - 5) sum = sum * SCALAR(1.01);
    if (variant == 2) out[i] = SCALAR(double(e) / wide);
    else if (variant == 3) out[i] = e * (SCALAR(1) / sum);
    else out[i] = e / sum;
}
