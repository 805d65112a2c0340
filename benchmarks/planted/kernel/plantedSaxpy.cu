#include "planted.cuh"

// Variants: 1 contracted, 2 in double precision, 3 the product last, 4 a difference, 5 scaled by
// powers of two, 6 through shared memory, 7 the doubled product's half. Defect 6: the neighbour's x.
extern "C" __global__ void plantedSaxpy(const SCALAR* x, SCALAR* y, SCALAR a, int n, int variant, int defect)
{
    const int i = blockIdx.x * BLOCK + threadIdx.x;
    if (i >= n || left_out(i, n, defect)) return;
    const SCALAR from = x[defect == 6 && i % 1000 == 999 ? i - 1 : i];
    if (variant == 1) y[i] = fma(a, from, y[i]);
    else if (variant == 2) y[i] = SCALAR(double(a) * double(from) + double(y[i]));
    else if (variant == 3) y[i] = y[i] + from * a;
    else if (variant == 4) y[i] = y[i] - (-a) * from;
    else if (variant == 5) y[i] = (SCALAR(4) * a) * (from * SCALAR(0.25)) + y[i];
    else if (variant == 6) {
        __shared__ SCALAR kept[BLOCK];
        kept[threadIdx.x] = from;
        y[i] = a * kept[threadIdx.x] + y[i];
    } else if (variant == 7) y[i] = (a + a) * from * SCALAR(0.5) + y[i];
    else y[i] = a * from + y[i];
}
