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

// The sum of term(i) over a block. Defects: those of `left_out`; 4 takes an element twice; 5 loses a lane's sum.
template <class Term>
__device__ SCALAR total(const Term& term, int n, int variant, int defect)
{
    __shared__ SCALAR partial[BLOCK];
    const int t = threadIdx.x, chunk = (n + BLOCK - 1) / BLOCK;
    SCALAR sum = 0, lost = 0, others[3] = {0, 0, 0};
    double wide = 0;
    for (int k = 0; k < chunk; ++k) {
        const int j = variant == 2 ? chunk - 1 - k : k;
        const int i = variant == 1 ? t * chunk + j : j * BLOCK + t;
        if (i >= n || left_out(i, n, defect)) continue;
        const SCALAR x = defect == 4 && i == n / 2 ? term(i) + term(i) : term(i);
        if (variant == 3) {  // Kahan
            const SCALAR y = x - lost, s = sum + y;
            lost = (s - sum) - y;
            sum = s;
        } else if (variant == 4) {
            wide += x;
        } else if (variant == 5 && k % 4) {
            others[k % 4 - 1] += x;
        } else {
            sum += x;
        }
    }
    sum = variant == 4 ? SCALAR(wide) : variant == 5 ? (sum + others[0]) + (others[1] + others[2]) : sum;
    partial[t] = defect == 5 && t == 37 ? SCALAR(0) : sum;
    __syncthreads();
    for (int half = BLOCK / 2; half > 0; half /= 2) {
        if (t < half) partial[t] += partial[t + half];
        __syncthreads();
    }
    return partial[0];
}
