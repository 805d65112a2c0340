#include "rows.cuh"

// A product of matrices, a block for each element. Variants and defects: those of `row_sum`; 8 rounds each product to
// the array's type, 9 and 10 compute in the array's type. Defect 6: b transposed where it can be.
extern "C" __global__ void plantedProduct(const SCALAR* a, const SCALAR* b, SCALAR* c, int rows, int cols, int inner, int variant, int defect)
{
    const int row = blockIdx.x / cols, col = blockIdx.x % cols;
    const SCALAR* left = a + row * inner;
    const SCALAR* right = b + col;
    const int step = cols;
    Wide sum = 0;
    if (variant == 8) sum = row_sum([=](int k) { return wide(as<SCALAR>(wide(left[k]) * wide(right[k * step]))); }, inner, 0, 0);
    else if (variant >= 9) sum = own_sum([=](int k) { return left[k] * right[k * step]; }, inner, variant == 10);
    else if (defect == 6) sum = row_sum([=](int k) { return wide(left[k]) * wide(b[col * inner + k]); }, inner, 0, 0);
    else sum = row_sum([=](int k) { return wide(left[k]) * wide(right[k * step]); }, inner, variant, defect);
    if (threadIdx.x == 0) store(c, int(blockIdx.x), rows * cols, sum, defect);
}
