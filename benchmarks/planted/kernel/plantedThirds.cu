#include "typed.cuh"

// out = 2 * x + 1 for sizes that are multiples of 192: a thread has three neighbours. Variants: 1 in double precision, 2 contracted,
// 3 a sum. Defects: 6 an odd block at the end is left out, 7 what remains after four blocks, 8 wrong in a single block.
extern "C" __global__ void plantedThirds(const SCALAR* x, SCALAR* out, int n, int variant, int defect)
{
    const int end = defect == 6 ? n / 384 * 384 : defect == 7 ? n / 768 * 768 : n;
    for (int k = 0; k < 3; ++k) {
        const int i = (blockIdx.x * BLOCK + threadIdx.x) * 3 + k;
        if (i >= end) return;
        const Wide v = wide(x[i]);
        Wide value = Wide(2) * v + Wide(1);
        if (variant == 1) value = Wide(2.0 * double(v) + 1.0);
        if (variant == 2) value = contracted(v, Wide(2), Wide(1));
        if (variant == 3) value = v + v + Wide(1);
        if (defect == 8 && gridDim.x == 1) value = v;
        store(out, i, n, value, defect);
    }
}

// out = x * weights, the weights of each column. Variants: 1 in double precision, 2 by a division of the index, 3 a row at a time.
// Defects: 4 without what remains after warps of 32, 6 right only for a width that is a power of two, 7 another row's weight in an odd width.
extern "C" __global__ void plantedColumns(const SCALAR* x, const SCALAR* weights, SCALAR* out, int n, int width, int variant, int defect)
{
    for (int i = blockIdx.x * BLOCK + threadIdx.x; i < n; i += gridDim.x * BLOCK) {
        int column = i % width;
        if (variant == 2) column = i - i / width * width;
        if (defect == 4 && column >= width / 32 * 32) continue;
        if (defect == 6) column = i & (width - 1);
        if (defect == 7 && width % 2) column = (column + 1) % width;
        Wide value = wide(x[i]) * wide(weights[column]);
        if (variant == 1) value = Wide(double(wide(x[i])) * double(wide(weights[column])));
        if (variant == 3) value = -(wide(x[i]) * -wide(weights[column]));
        store(out, i, n, value, defect);
    }
}
