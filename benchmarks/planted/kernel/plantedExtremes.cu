#include "rows.cuh"

template <bool LEAST>
__device__ bool better(Wide a, Wide b) { return LEAST ? a < b : a > b; }

// The largest or least of each row. Variants: 1 one thread, 2 from the last on, 3 in pairs of neighbours, 4 the negative
// of the opposite of the negatives.
// Defects: those of `skipped`; 6 starts at 0; 7 the largest starts at a tiny positive number, the least at 1.
template <bool LEAST>
__device__ void extreme(const SCALAR* from, SCALAR* out, int n, int rows, int variant, int defect)
{
    __shared__ Wide best[BLOCK];
    const int t = threadIdx.x, step = variant == 1 ? 1 : BLOCK;
    Wide found = wide(from[defect == 1 && n > 1]);
    if (defect == 6) found = Wide(0);
    if (defect == 7) found = LEAST ? Wide(1) : Wide(1e-7);
    for (int k = variant == 1 && t > 0 ? n : t; k < n; k += step) {
        const int i = variant == 2 ? n - 1 - k : k;
        const Wide x = wide(from[i]);
        if (skipped(i, n, defect)) continue;
        if (variant == 4) found = better<!LEAST>(-x, -found) ? x : found;
        else if (better<LEAST>(x, found)) found = x;
    }
    best[t] = found;
    for (int k = 1; k < BLOCK; k *= 2) {
        __syncthreads();
        const int other = variant == 3 ? t + k : t + BLOCK / 2 / k;
        const bool mine = variant == 3 ? t % (2 * k) == 0 : t < BLOCK / 2 / k;
        if (mine && better<LEAST>(best[other], best[t])) best[t] = best[other];
    }
    if (t == 0) store(out, int(blockIdx.x), rows, best[0], defect);
}

extern "C" __global__ void plantedMost(const SCALAR* x, SCALAR* out, int n, int rows, int variant, int defect)
{
    extreme<false>(x + blockIdx.x * n, out, n, rows, variant, defect);
}

extern "C" __global__ void plantedLeast(const SCALAR* x, SCALAR* out, int n, int rows, int variant, int defect)
{
    extreme<true>(x + blockIdx.x * n, out, n, rows, variant, defect);
}

// Where the largest or least of each row is. Variants: 0 the first of equals, 1 the last, 2 any, 3 one thread, the last.
// Defects: those of `skipped`; 6 compares with 0 at first, 7 compares magnitudes, 8 the opposite, 9 one too many.
template <bool LEAST>
__device__ void place(const SCALAR* from, int* out, int n, int rows, int variant, int defect)
{
    __shared__ Wide best[BLOCK];
    __shared__ int at[BLOCK];
    const int t = threadIdx.x, step = variant == 3 ? 1 : BLOCK;
    auto of = [=](int i) {
        const Wide x = wide(from[i]);
        return defect == 7 && x < Wide(0) ? -x : x;
    };
    auto before = [=](Wide x, int i, Wide y, int j) {  // whether x at i is to be chosen rather than y at j
        if (x == y) return variant == 0 ? i < j : variant == 2 ? false : i > j;
        return defect == 8 ? better<!LEAST>(x, y) : better<LEAST>(x, y);
    };
    int where = defect == 1 && n > 1;
    Wide found = defect == 6 ? Wide(0) : of(where);
    for (int i = variant == 3 && t > 0 ? n : t; i < n; i += step)
        if (!skipped(i, n, defect) && (defect == 6 ? better<LEAST>(of(i), found) : before(of(i), i, found, where))) found = of(i), where = i;
    best[t] = found;
    at[t] = where;
    for (int half = BLOCK / 2; half > 0; half /= 2) {
        __syncthreads();
        const int other = t + half;
        if (t < half && (defect == 6 ? better<LEAST>(best[other], best[t]) : before(best[other], at[other], best[t], at[t])))
            best[t] = best[other], at[t] = at[other];
    }
    if (t == 0) store(out, int(blockIdx.x), rows, defect == 9 ? at[0] + 1 : at[0], defect);
}

extern "C" __global__ void plantedArgMost(const SCALAR* x, int* out, int n, int rows, int variant, int defect)
{
    place<false>(x + blockIdx.x * n, out, n, rows, variant, defect);
}

extern "C" __global__ void plantedArgLeast(const SCALAR* x, int* out, int n, int rows, int variant, int defect)
{
    place<true>(x + blockIdx.x * n, out, n, rows, variant, defect);
}
