#include "planted.cuh"

extern "C" __global__ void plantedNorm(const SCALAR* x, SCALAR* out, int n, int variant, int defect)
{
    const SCALAR sum = total([=](int i) { return x[i] * x[i]; }, n, variant, defect);
    if (threadIdx.x == 0) out[0] = sqrt(sum);
}
