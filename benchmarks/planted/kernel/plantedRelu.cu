#include "planted.cuh"

// Variants: 1 contracted, 2 in double precision, 3 by a comparison, 4 half of s + abs(s), 5 by
// fdim, 6 a product with 0 or 1, 7 by the sign of the sum in double precision. Defects: 6 a leak below 0, 7 a wrong lane, 8 no tail.
extern "C" __global__ void plantedRelu(const SCALAR* x, const SCALAR* z, SCALAR* out, int n, int variant, int defect)
{
    const int i = blockIdx.x * BLOCK + threadIdx.x;
    if (i >= n || (defect == 8 && i >= n / BLOCK * BLOCK - 1)) return;
    const int j = defect == 7 && i == n / 2 ? i + 1 : i;
    SCALAR s = SCALAR(3) * x[j] + z[j];
    if (variant == 1) s = fma(SCALAR(3), x[j], z[j]);
    if (variant == 2) s = SCALAR(3.0 * double(x[j]) + double(z[j]));
    if (variant == 3) out[i] = s > SCALAR(0) ? s : SCALAR(0);
    else if (variant == 4) out[i] = (s + fabs(s)) * SCALAR(0.5);
    else if (variant == 5) out[i] = fdim(s, SCALAR(0));
    else if (variant == 6) out[i] = s * SCALAR(s > SCALAR(0));
    else if (variant == 7) out[i] = double(s) > 0.0 ? s : SCALAR(0);
    else if (defect == 6) out[i] = s > SCALAR(0) ? s : s * SCALAR(1e-6);
    else out[i] = fmax(s, SCALAR(0));
}
