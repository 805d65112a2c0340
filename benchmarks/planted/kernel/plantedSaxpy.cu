#include "planted.cuh"

// Variants: 1 contracted, 2 in double precision, 3 twice as many terms in between. Defect 6: the neighbour's x.
extern "C" __global__ void plantedSaxpy(const SCALAR* x, SCALAR* y, SCALAR a, int n, int variant, int defect)
{
    const int i = blockIdx.x * BLOCK + threadIdx.x;
    if (i >= n || left_out(i, n, defect)) return;
    const SCALAR from = x[defect == 6 && i % 1000 == 999 ? i - 1 : i];
    if (variant == 1) y[i] = fma(a, from, y[i]);
    else if (variant == 2) y[i] = SCALAR(double(a) * double(from) + double(y[i]));
    else if (variant == 3) y[i] = y[i] + from * a;
    else y[i] = a * from + y[i];
}
