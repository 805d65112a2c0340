#include "planted.cuh"

// x[i-1] * 0.3 + x[i] * 0.4 + x[i+1] * 0.3 + 0.1, 0 outside. Variants: 1 from the right, 2 contracted, 3 in double
// precision, 4 from the left, 5 the halo first, 6 and 7 contracted otherwise, 8 corrected, 9 one product in double precision. Defects: 6 the halo repeats the edge, 7 a block does not see the next one's first element, 8 a wrong constant in the last.
extern "C" __global__ void plantedStencil(const SCALAR* x, SCALAR* out, int n, int variant, int defect)
{
    const int i = blockIdx.x * BLOCK + threadIdx.x;
    if (i >= n) return;
    const SCALAR middle = x[i], outside = defect == 6 ? middle : SCALAR(0);
    const SCALAR left = i > 0 ? x[i - 1] : outside;
    SCALAR right = i < n - 1 ? x[i + 1] : outside;
    if (defect == 7 && threadIdx.x == BLOCK - 1) right = 0;
    const SCALAR a = SCALAR(0.3), b = SCALAR(0.4), c = defect == 8 && i == n - 1 ? SCALAR(0.10001) : SCALAR(0.1);
    if (variant == 1) out[i] = (c + right * a) + (middle * b + left * a);
    else if (variant == 2) out[i] = fma(left, a, fma(middle, b, fma(right, a, c)));
    else if (variant == 3) out[i] = SCALAR(double(left) * 0.3 + double(middle) * 0.4 + double(right) * 0.3 + 0.1);
    else if (variant == 4) out[i] = ((c + left * a) + middle * b) + right * a;
    else if (variant == 5) out[i] = (left * a + right * a) + (c + middle * b);
    else if (variant == 6) out[i] = fma(right, a, fma(left, a, fma(middle, b, c)));
    else if (variant == 7) out[i] = fma(middle, b, left * a) + fma(right, a, c);
    else if (variant == 8) {
        Corrected corrected;
        corrected.kahan(left * a);
        corrected.kahan(middle * b);
        corrected.kahan(right * a);
        corrected.kahan(c);
        out[i] = corrected.sum;
    } else if (variant == 9) out[i] = SCALAR(double(left) * double(a)) + middle * b + right * a + c;
    else out[i] = left * a + middle * b + right * a + c;
}
