#include "typed.cuh"

// Functions of each element that have branches. Variants: 1 by comparisons, 2 the other way round, 3 in double precision.
// Defects: 6 and 7, beside each function; those of `store`.

__device__ inline Wide clipped(Wide v, Wide low, Wide high, int variant)
{
    if (variant == 1) return v < low ? low : v > high ? high : v;
    if (variant == 2) return max(low, min(v, high));
    if (variant == 3) return Wide(max(double(low), min(double(high), double(v))));
    return min(max(v, low), high);
}

// 6 has no upper limit, 7 no lower limit.
extern "C" __global__ void plantedClip6(const SCALAR* x, SCALAR* out, int n, int variant, int defect)
{
    each(x, out, n, defect, [=](Wide v) {
        if (defect == 6) return max(v, Wide(0));
        if (defect == 7) return min(v, Wide(6));
        return clipped(v, Wide(0), Wide(6), variant);
    });
}

// 6 the upper limit is 5, 7 the lower limit is -5.
extern "C" __global__ void plantedClip4(const SCALAR* x, SCALAR* out, int n, int variant, int defect)
{
    each(x, out, n, defect, [=](Wide v) { return clipped(v, Wide(defect == 7 ? -5 : -4), Wide(defect == 6 ? 5 : 4), variant); });
}

// 6 the sign of 0 is 1, 7 negative numbers have none.
extern "C" __global__ void plantedSign(const SCALAR* x, SCALAR* out, int n, int variant, int defect)
{
    each(x, out, n, defect, [=](Wide v) {
        if (defect == 6) return v >= Wide(0) ? Wide(1) : Wide(-1);
        if (defect == 7) return v > Wide(0) ? Wide(1) : Wide(0);
        if (variant == 1) return v == Wide(0) ? Wide(0) : v < Wide(0) ? Wide(-1) : Wide(1);
        if (variant == 2) return v < Wide(0) ? Wide(-1) : v > Wide(0) ? Wide(1) : Wide(0);
        if (variant == 3) return Wide((double(v) > 0.0) - (double(v) < 0.0));
        return Wide((v > Wide(0)) - (v < Wide(0)));
    });
}
