#include "typed.cuh"

// rint(8 * x). Variants: 1 by comparisons, 2 of the negative, 3 in double precision.
// Defects: 6 ties away from 0, 7 rounds towards 0.
extern "C" __global__ void plantedRint(const SCALAR* x, SCALAR* out, int n, int variant, int defect)
{
    each(x, out, n, defect, [=](Wide v) {
        const Wide s = v * Wide(8);
        if (defect == 6) return Wide(round(s));
        if (defect == 7) return Wide(trunc(s));
        if (variant == 1) {
            const Wide down = Wide(floor(s)), rest = s - down;
            return rest < Wide(0.5) || (rest == Wide(0.5) && fmod(down, Wide(2)) == Wide(0)) ? down : down + Wide(1);
        }
        if (variant == 2) return Wide(-rint(-s));
        if (variant == 3) return Wide(nearbyint(double(v) * 8.0));
        return Wide(rint(s));
    });
}
