#include "rows.cuh"

// Whether element j of a row stands before element i. Variants, for equal ones: 0 the first, 1 the last, 2 and 3 in an
// order of their own. Defect 6: the opposite order.
__device__ inline bool precedes(const SCALAR* from, int j, int i, bool descending, int variant, int defect)
{
    const Wide a = wide(from[j]), b = wide(from[i]);
    if (a == b) return variant == 0 ? j < i : variant == 1 ? j > i : variant == 2 ? (j ^ 21) < (i ^ 21) : (j ^ 42) < (i ^ 42);
    return (a < b) != (descending != (defect == 6));
}

// The place of element i among the n of its row. Defect 9: equal elements have the same place.
__device__ inline int rank_of(const SCALAR* from, int i, int n, bool descending, int variant, int defect)
{
    int rank = 0;
    for (int j = 0; j < n; ++j)
        rank += precedes(from, j, i, descending, variant, defect) && !(defect == 9 && wide(from[i]) == wide(from[j]));
    return rank;
}

// The first of the elements that are equal to element i.
__device__ inline int first_equal(const SCALAR* from, int i)
{
    int j = 0;
    while (wide(from[j]) != wide(from[i])) ++j;
    return j;
}

// The order of each row. Variants: those of `precedes`. Defects: those of `precedes` and `rank_of`; 2 the last stays where it
// is, 4 so does what remains after warps of 32, 7 the last two exchanged, 10 the first of equals stands for all of them.
extern "C" __global__ void plantedArgsort(const SCALAR* x, int* out, int n, int total, int variant, int defect)
{
    const SCALAR* from = x + blockIdx.x * n;
    const int sorted = defect == 2 ? n - 1 : defect == 4 ? n / 32 * 32 : n;
    for (int i = threadIdx.x; i < n; i += BLOCK) {
        int rank = i < sorted ? rank_of(from, i, sorted, false, variant, defect) : i;
        if (defect == 7 && n > 1 && rank >= n - 2) rank = n - 1 - (rank - (n - 2));
        store(out, blockIdx.x * n + rank, total, defect == 10 ? first_equal(from, i) : i, defect);
    }
}

// The largest four of each row and where they are. Variants: those of `precedes`. Defects: those of `precedes` and `rank_of`, and of `skipped`
// for 2 to 4; 7 the fifth in place of the fourth, 8 an index too large by one, 10 the first of equals stands for all of them.
extern "C" __global__ void plantedTopK(const SCALAR* x, int* index, SCALAR* value, int n, int rows, int variant, int defect)
{
    const SCALAR* from = x + blockIdx.x * n;
    for (int i = threadIdx.x; i < n; i += BLOCK) {
        int rank = skipped(i, n, defect) ? n : rank_of(from, i, n, true, variant, defect);
        if (defect == 7 && (rank == 3 || rank == 4)) rank = 7 - rank;
        if (rank >= 4) continue;
        value[blockIdx.x * 4 + rank] = from[i];
        store(index, blockIdx.x * 4 + rank, rows * 4, defect == 10 ? first_equal(from, i) : defect == 8 ? i + 1 : i, defect);
    }
}
