#include "typed.cuh"

// x * y + z of a half type. Variants: 1 __hfma, 2 __hadd of __hmul, 3 contracted in float, 4 in double precision, 5 operators,
// 6 a pair at a time in float. Defects: 2 the last lacks z, 6 the neighbour's x in every 1000th, 7 magnitudes of y.
extern "C" __global__ void plantedHalfMap(const SCALAR* x, const SCALAR* y, const SCALAR* z, SCALAR* out, int n, int variant, int defect)
{
    const int i = blockIdx.x * BLOCK + threadIdx.x;
    if (i >= n) return;
    const SCALAR a = x[defect == 6 && i % 1000 == 999 ? i - 1 : i], b = y[i], c = z[i];
    float value = wide(a) * (defect == 7 ? fabsf(wide(b)) : wide(b)) + (defect == 2 && i == n - 1 ? 0.0f : wide(c));
    if (variant == 1) value = wide(__hfma(a, b, c));
    if (variant == 2) value = wide(__hadd(__hmul(a, b), c));
    if (variant == 3) value = fmaf(wide(a), wide(b), wide(c));
    if (variant == 4) value = float(double(wide(a)) * double(wide(b)) + double(wide(c)));
    if (variant == 5) value = wide(a * b + c);
    if (variant == 6) value = wide(c) - (-wide(a)) * wide(b);
    store(out, i, n, value, defect);
}

// x / (1 + exp(-x)). Variants: 1 each step in the half type, 2 in double precision, 3 the quotient in the half type.
// Defects: 6 not divided below -1, 7 exp(x), 8 the last as it was.
extern "C" __global__ void plantedSilu(const SCALAR* x, SCALAR* out, int n, int variant, int defect)
{
    const int i = blockIdx.x * BLOCK + threadIdx.x;
    if (i >= n) return;
    const SCALAR v = x[i], one = as<SCALAR>(1);
    const float w = wide(v);
    float value = w / (1.0f + expf(defect == 7 ? w : -w));
    if (variant == 1) value = wide(__hdiv(v, __hadd(one, hexp(__hneg(v)))));
    if (variant == 2) value = float(double(w) / (1.0 + exp(-double(w))));
    if (variant == 3) value = wide(__hdiv(v, as<SCALAR>(1.0f + expf(-w))));
    if ((defect == 6 && w < -1.0f) || (defect == 8 && i == n - 1)) value = w;
    store(out, i, n, value, defect);
}
