// Parts of the planted kernels that give each row of a matrix a block.
#pragma once

#include "typed.cuh"

// Whether a kernel with that defect leaves element i of a row out: 1 the first, 2 the last, 3 the second half, 4 what
// remains after warps of 32.
__device__ inline bool skipped(int i, int n, int defect)
{
    return (defect == 1 && i == 0) || (defect == 2 && i == n - 1) || (defect == 3 && i >= n / 2) ||
           (defect == 4 && i >= n / 32 * 32);
}

// The sum over the block, in every thread.
template <class Sum>
__device__ Sum block_sum(Sum sum)
{
    __shared__ Sum partial[BLOCK];
    __syncthreads();  // an earlier sum may still be read
    partial[threadIdx.x] = sum;
    __syncthreads();
    for (int half = BLOCK / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) partial[threadIdx.x] = partial[threadIdx.x] + partial[threadIdx.x + half];
        __syncthreads();
    }
    return partial[0];
}

// The sum of term(i) over a row of n, in every thread. Variants: 1 one thread from the first element on, 2 from the last,
// 3 Kahan, 4 in a wider type, 5 four sums, 6 by shuffles, 7 neighbours by one thread.
// Defects: those of `skipped`; 5 takes an element twice.
template <class Term>
__device__ Wide row_sum(const Term& term, int n, int variant, int defect)
{
    const int t = threadIdx.x, chunk = (n + BLOCK - 1) / BLOCK, steps = variant == 1 || variant == 2 ? n : chunk;
    Wide sum = 0, lost = 0, others[3] = {0, 0, 0};
    typename Widest<Wide>::type widest = 0;
    for (int k = 0; k < steps; ++k) {
        int i = variant == 7 ? t * chunk + k : k * BLOCK + t;
        if (variant == 1) i = t == 0 ? k : n;
        if (variant == 2) i = t == 0 ? n - 1 - k : n;
        if (i >= n || skipped(i, n, defect)) continue;
        Wide x = term(i);
        if (defect == 5 && i == n / 2) x += x;
        if (variant == 3) {
            const Wide y = x - lost, s = sum + y;
            lost = (s - sum) - y;
            sum = s;
        } else if (variant == 4) widest += x;
        else if (variant == 5 && k % 4) others[k % 4 - 1] += x;
        else sum += x;
    }
    if (variant == 4) return Wide(block_sum(widest));
    if (variant == 5) sum = (sum + others[0]) + (others[1] + others[2]);
    if (variant == 6) {
        for (int lanes = 16; lanes > 0; lanes /= 2) sum += __shfl_down_sync(0xffffffffu, sum, lanes);
        return block_sum(t % 32 ? Wide(0) : sum);
    }
    return block_sum(sum);
}

// The sum of term(i), in every thread, added in the type of the array: a half type rounds each sum. `serial`: by one
// thread.
template <class Term>
__device__ Wide own_sum(const Term& term, int n, bool serial)
{
    SCALAR sum = as<SCALAR>(0);
    for (int i = serial ? 0 : int(threadIdx.x); i < n && (!serial || threadIdx.x == 0); i += serial ? 1 : BLOCK)
        sum = sum + term(i);
    return wide(block_sum(sum));
}
