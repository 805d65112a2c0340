#include "planted.cuh"

// out = transpose(in) * 0.1, rows of 32. Variants: 1 in double precision, 2 the factor first, 3 contracted with 0, 4 the doubled
// factor's half, 5 the negative of the negative. Defects: 6 rounded towards 0,
// 7 two lanes exchanged, 8 a row that is not transposed.
extern "C" __global__ void plantedTranspose(const SCALAR* x, SCALAR* out, int n, int variant, int defect)
{
    const int i = blockIdx.x * BLOCK + threadIdx.x, rows = n / 32;
    if (i >= n) return;
    int j = i % rows * 32 + i / rows;
    if (defect == 7 && i / 2 == n / 4) j = i % 2 ? (i - 1) % rows * 32 + (i - 1) / rows : (i + 1) % rows * 32 + (i + 1) / rows;
    if (defect == 8 && i >= n - 32) j = i;
    if (variant == 1) out[i] = SCALAR(double(x[j]) * 0.1);
    else if (defect == 6) out[i] = cut(x[j] * SCALAR(0.1), 2);
    else if (variant == 2) out[i] = SCALAR(0.1) * x[j];
    else if (variant == 3) out[i] = fma(x[j], SCALAR(0.1), SCALAR(0));
    else if (variant == 4) out[i] = x[j] * (SCALAR(0.1) + SCALAR(0.1)) * SCALAR(0.5);
    else if (variant == 5) out[i] = -(x[j] * SCALAR(-0.1));
    else out[i] = x[j] * SCALAR(0.1);
}
