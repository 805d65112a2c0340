#include "rows.cuh"

// Norms of rows. Variants and defects: those of `row_sum`, in the last sum; defect 6: a row is not scaled by the weights.
extern "C" __global__ void plantedRmsNorm(const SCALAR* x, const SCALAR* w, SCALAR* out, int n, int total, int variant, int defect)
{
    const SCALAR* from = x + blockIdx.x * n;
    const Wide squares = row_sum([=](int i) { return wide(from[i]) * wide(from[i]); }, n, variant, defect);
    const Wide scale = rsqrt(squares / Wide(n) + Wide(1e-5));
    for (int i = threadIdx.x; i < n; i += BLOCK)
        store(out, blockIdx.x * n + i, total, wide(from[i]) * scale * (defect == 6 && blockIdx.x == 1 ? Wide(1) : wide(w[i])), defect);
}

// Further defects: 7 the mean is not subtracted, 8 the mean of half a row, 9 no shift in the last column.
extern "C" __global__ void plantedLayerNorm(const SCALAR* x, const SCALAR* w, const SCALAR* b, SCALAR* out, int n, int total, int variant, int defect)
{
    const SCALAR* from = x + blockIdx.x * n;
    const Wide sum = row_sum([=](int i) { return wide(from[i]); }, n, variant, defect == 8 ? 3 : 0);
    const Wide mean = defect == 7 ? Wide(0) : sum / Wide(defect == 8 ? n / 2 : n);
    const Wide squares = row_sum([=](int i) { return (wide(from[i]) - mean) * (wide(from[i]) - mean); }, n, variant, defect);
    const Wide scale = rsqrt(squares / Wide(n) + Wide(1e-5));
    for (int i = threadIdx.x; i < n; i += BLOCK) {
        const Wide weight = defect == 6 && blockIdx.x == 1 ? Wide(1) : wide(w[i]);
        const Wide shift = defect == 9 && i == n - 1 ? Wide(0) : wide(b[i]);
        store(out, blockIdx.x * n + i, total, (wide(from[i]) - mean) * scale * weight + shift, defect);
    }
}
