#include "rows.cuh"

// A matrix times a vector. Variants and defects: those of `row_sum`; 8 rounds each product to the array's type,
// 9 contracts, 10 and 11 compute in the array's type.
extern "C" __global__ void plantedMatVec(const SCALAR* a, const SCALAR* x, SCALAR* out, int n, int rows, int variant, int defect)
{
    const int row = blockIdx.x;
    const SCALAR* from = a + row * n;
    Wide sum = 0;
    if (variant == 8) sum = row_sum([=](int i) { return wide(as<SCALAR>(wide(from[i]) * wide(x[i]))); }, n, 0, 0);
    else if (variant == 9) {
        for (int i = threadIdx.x; i < n; i += BLOCK) sum = contracted(wide(from[i]), wide(x[i]), sum);
        sum = block_sum(sum);
    } else if (variant >= 10) sum = own_sum([=](int i) { return from[i] * x[i]; }, n, variant == 11);
    else sum = row_sum([=](int i) { return wide(from[i]) * wide(x[i]); }, n, variant, defect);
    if (threadIdx.x == 0) store(out, row, rows, sum, defect);
}
