#include "typed.cuh"

// Functions of integers. Variants and defects: beside each.

// (x >> 3) ^ (x & 255). Variants: 1 a quotient rounded downwards, 2 the bits of a remainder, 3 in 64 bits. Defects: 6 shifts zeros in, 7 divides towards
// 0, 8 a mask of seven bits.
extern "C" __global__ void plantedBits(const SCALAR* x, SCALAR* out, int n, int variant, int defect)
{
    const int i = blockIdx.x * BLOCK + threadIdx.x;
    if (i >= n) return;
    const Wide v = wide(x[i]);
    Wide shifted = v >> 3, low = v & 255;
    if (variant == 1) shifted = (v - (v & 7)) / 8;
    if (variant == 2) low = v - (v >> 8) * 256;
    if (variant == 3) shifted = Wide((long long)v >> 3);
    if (defect == 6) shifted = Wide((unsigned int)v >> 3);
    if (defect == 7) shifted = v / 8;
    if (defect == 8) low = v & 127;
    store(out, i, n, shifted ^ low, defect);
}

// x // 4, rounded downwards. Variants: 1 a shift, 2 by the remainder, 3 in double precision. Defects: 6 towards 0, 7 of the magnitude.
extern "C" __global__ void plantedQuarter(const SCALAR* x, SCALAR* out, int n, int variant, int defect)
{
    const int i = blockIdx.x * BLOCK + threadIdx.x;
    if (i >= n) return;
    const Wide v = wide(x[i]);
    Wide value = v / 4 - (v % 4 < 0);
    if (variant == 1) value = v >> 2;
    if (variant == 2) value = (v - (v & 3)) / 4;
    if (variant == 3) value = Wide(floor(double(v) / 4.0));
    if (defect == 6) value = v / 4;
    if (defect == 7) value = (v < 0 ? -v : v) / 4;
    store(out, i, n, value, defect);
}

// A histogram. Variants: 1 in shared memory first, 2 from the last element on, 3 one block. Defects: 1 without the first, 2 without
// the last, 6 bin 0 is not counted, 7 the last bin is counted with the one before, 21 all twice.
extern "C" __global__ void plantedCounts(const SCALAR* x, int* counts, int n, int bins, int variant, int defect)
{
    __shared__ int own[64];
    const int step = variant == 3 ? BLOCK : gridDim.x * BLOCK, first = blockIdx.x * BLOCK + threadIdx.x;
    for (int bin = threadIdx.x; bin < bins; bin += BLOCK) own[bin] = 0;
    __syncthreads();
    for (int k = variant == 3 && blockIdx.x > 0 ? n : first; k < n; k += step) {
        const int i = variant == 2 ? n - 1 - k : k;
        int bin = int(x[i]);
        if ((defect == 1 && i == 0) || (defect == 2 && i == n - 1) || (defect == 6 && bin == 0)) continue;
        if (defect == 7 && bin == bins - 1) --bin;
        atomicAdd(variant == 1 ? &own[bin] : &counts[bin], defect == 21 ? 2 : 1);
    }
    __syncthreads();
    for (int bin = threadIdx.x; bin < bins && variant == 1; bin += BLOCK) atomicAdd(&counts[bin], own[bin]);
}
