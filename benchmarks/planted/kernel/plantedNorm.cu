#include "planted.cuh"

// Variants and defects: those of `total`; 13 the root in double precision.
extern "C" __global__ void plantedNorm(const SCALAR* x, SCALAR* out, int n, int variant, int defect)
{
    const SCALAR sum = total([=](int i) { return x[i] * x[i]; }, n, variant, defect);
    if (threadIdx.x == 0) out[0] = variant == 13 ? SCALAR(sqrt(double(sum))) : sqrt(sum);
}
