#include "rows.cuh"

// Variants and defects: those of `row_sum`; 8 and 9 add in the array's type. Defect 6: right only for a width that is a power of two.
extern "C" __global__ void plantedRowSum(const SCALAR* x, SCALAR* out, int n, int rows, int variant, int defect)
{
    const int row = blockIdx.x;
    const SCALAR* from = x + row * n;
    const int last = defect == 6 ? n & -n : n;
    const Wide sum = variant >= 8 ? own_sum([=](int i) { return from[i]; }, n, variant == 9)
                                  : row_sum([=](int i) { return wide(from[i]); }, last, variant, defect);
    if (threadIdx.x == 0) store(out, row, rows, sum, defect);
}
