#include "planted.cuh"

// Variants and defects: those of `total`, and two contracted ones.
extern "C" __global__ void plantedDot(const SCALAR* x, const SCALAR* y, SCALAR* out, int n, int variant, int defect)
{
    if (variant == 13 || variant == 14) {  // contracted, and contracted into two sums
        SCALAR sum = 0, other = 0;
        for (int i = threadIdx.x; i < n; i += BLOCK) {
            if (variant == 14 && i / BLOCK % 2) other = fma(x[i], y[i], other);
            else sum = fma(x[i], y[i], sum);
        }
        sum = joined(sum + other, 0);
        if (threadIdx.x == 0) out[0] = sum;
        return;
    }
    const SCALAR sum = total([=](int i) { return x[i] * y[i]; }, n, variant, defect);
    if (threadIdx.x == 0) out[0] = sum;
}
