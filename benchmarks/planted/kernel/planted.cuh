// Parts of the planted kernels. `variant` chooses a correct way to compute, `defect` a mistake; 0 is none.
#pragma once

#if !defined(BLOCK) || !defined(SCALAR)
#error "this kernel needs the macros BLOCK, SCALAR"
#endif

// The next number of the same type, `steps` further from 0 or nearer to it.
__device__ inline float moved(float x, int steps)
{
    return x == 0.0f ? x : __int_as_float(__float_as_int(x) + steps);
}
__device__ inline double moved(double x, int steps)
{
    return x == 0.0 ? x : __longlong_as_double(__double_as_longlong(x) + steps);
}

// Rounded towards zero to `bits` fewer bits.
__device__ inline float cut(float x, int bits) { return __int_as_float(__float_as_int(x) >> bits << bits); }
__device__ inline double cut(double x, int bits)
{
    return __longlong_as_double(__double_as_longlong(x) >> bits << bits);
}

// Whether a kernel with that defect leaves element i out: 1 the first, 2 the last, 3 every thousandth.
__device__ inline bool left_out(int i, int n, int defect)
{
    return (defect == 1 && i == 0) || (defect == 2 && i == n - 1) || (defect == 3 && i % 1000 == 999);
}

// A sum with what its roundings lost: Kahan's, Neumaier's, and one that adds the exact error of each addition.
struct Corrected {
    SCALAR sum = 0, lost = 0;
    __device__ void kahan(SCALAR x)
    {
        const SCALAR y = x - lost, s = sum + y;
        lost = (s - sum) - y;
        sum = s;
    }
    __device__ void neumaier(SCALAR x)
    {
        const SCALAR s = sum + x;
        lost += fabs(sum) >= fabs(x) ? (sum - s) + x : (x - s) + sum;
        sum = s;
    }
    __device__ void two_sum(SCALAR x)
    {
        const SCALAR s = sum + x, from = s - sum;
        lost += (sum - (s - from)) + (x - from);
        sum = s;
    }
};

// The sum over a block of one number from each thread. Variants: 10 by shuffles, 11 one after another from the last
// thread on, 12 by atomic additions in any order; the others in pairs.
__device__ inline SCALAR joined(SCALAR sum, int variant)
{
    __shared__ SCALAR partial[BLOCK];
    const int t = threadIdx.x;
    if (variant == 10) {
        for (int lanes = 16; lanes > 0; lanes /= 2) sum += __shfl_down_sync(0xffffffffu, sum, lanes);
        if (t % 32 == 0) partial[t / 32] = sum;
        __syncthreads();
        sum = t < BLOCK / 32 ? partial[t] : SCALAR(0);
        for (int lanes = 16; lanes > 0; lanes /= 2) sum += __shfl_down_sync(0xffffffffu, sum, lanes);
        return sum;
    }
    partial[t] = variant == 12 ? SCALAR(0) : sum;
    __syncthreads();
    if (variant == 12) {
        atomicAdd(&partial[0], sum);
        __syncthreads();
    } else if (variant == 11) {
        sum = 0;
        for (int k = BLOCK - 1; k >= 0 && t == 0; --k) sum += partial[k];
        return sum;
    } else {
        for (int half = BLOCK / 2; half > 0; half /= 2) {
            if (t < half) partial[t] += partial[t + half];
            __syncthreads();
        }
    }
    return partial[0];
}

// The sum of term(i) over a block, in thread 0. Variants: 1 neighbours by one thread, 2 from the end, 3 Kahan, 4 in
// double precision, 5 four sums, 6 from both ends, 7 Neumaier, 8 each addition's error, 9 in pairs; those of `joined`.
// Defects: those of `left_out`; 4 takes an element twice; 5 loses a lane's sum.
template <class Term>
__device__ SCALAR total(const Term& term, int n, int variant, int defect)
{
    const int t = threadIdx.x, chunk = (n + BLOCK - 1) / BLOCK;
    SCALAR sum = 0, others[3] = {0, 0, 0}, levels[32];
    Corrected corrected;
    double wide = 0;
    for (int k = 0; k < chunk; ++k) {
        int j = variant == 2 ? chunk - 1 - k : k;
        if (variant == 6) j = k % 2 ? chunk - 1 - k / 2 : k / 2;
        const int i = variant == 1 ? t * chunk + j : j * BLOCK + t;
        SCALAR x = i >= n || left_out(i, n, defect) ? SCALAR(0) : term(i);
        if (defect == 4 && i == n / 2) x += x;
        if (variant == 3) corrected.kahan(x);
        else if (variant == 4) wide += x;
        else if (variant == 5 && k % 4) others[k % 4 - 1] += x;
        else if (variant == 7) corrected.neumaier(x);
        else if (variant == 8) corrected.two_sum(x);
        else if (variant == 9) {
            int level = 0;
            for (; k >> level & 1; ++level) x += levels[level];
            levels[level] = x;
        } else sum += x;
    }
    if (variant == 3) sum = corrected.sum;
    if (variant == 4) sum = SCALAR(wide);
    if (variant == 5) sum = (sum + others[0]) + (others[1] + others[2]);
    if (variant == 7 || variant == 8) sum = corrected.sum + corrected.lost;
    for (int level = 0; level < 32 && variant == 9; ++level)
        if (chunk >> level & 1) sum += levels[level];
    return joined(defect == 5 && t == 37 ? SCALAR(0) : sum, variant);
}
