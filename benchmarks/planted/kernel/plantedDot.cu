#include "planted.cuh"

extern "C" __global__ void plantedDot(const SCALAR* x, const SCALAR* y, SCALAR* out, int n, int variant, int defect)
{
    const SCALAR sum = total([=](int i) { return x[i] * y[i]; }, n, variant, defect);
    if (threadIdx.x == 0) out[0] = sum;
}
