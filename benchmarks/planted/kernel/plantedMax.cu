#include "planted.cuh"

// The largest of an element and its two neighbours around the ring. Variants: 1 by comparisons, 2 the other way round, 3 the neighbours first,
// 4 the negative of the least negative, 5 in double precision, 6 by a sorting network, 7 by comparisons with or equal.
// Defects: those of `left_out`, as neighbours; 6 no ring.
extern "C" __global__ void plantedMax(const SCALAR* x, SCALAR* out, int n, int variant, int defect)
{
    const int i = blockIdx.x * BLOCK + threadIdx.x;
    if (i >= n) return;
    const int before = defect == 6 ? max(i - 1, 0) : (i + n - 1) % n, behind = defect == 6 ? min(i + 1, n - 1) : (i + 1) % n;
    const SCALAR a = left_out(before, n, defect) ? x[i] : x[before], b = x[i], c = x[behind];
    if (variant == 1) out[i] = a > b ? (a > c ? a : c) : (b > c ? b : c);
    else if (variant == 2) out[i] = fmax(c, fmax(b, a));
    else if (variant == 3) out[i] = fmax(fmax(a, c), b);
    else if (variant == 4) out[i] = -fmin(fmin(-a, -b), -c);
    else if (variant == 5) out[i] = SCALAR(fmax(double(a), fmax(double(b), double(c))));
    else if (variant == 6) {
        const SCALAR low = fmin(a, b), high = fmax(a, b), next = fmax(low, c);
        out[i] = fmax(high, next);
    } else if (variant == 7) out[i] = a >= b && a >= c ? a : b >= c ? b : c;
    else out[i] = fmax(fmax(a, b), c);
}
