// Kernels with branches that random inputs may not reach. `defect` 0 is right. KIND is the type.

#include <cuda_fp16.h>

#if KIND == 0
typedef float T;
#define LOWEST -3.4e38f
#define HIGHEST 3.4e38f
#define TINY 1.2e-38f
#elif KIND == 1
typedef double T;
#define LOWEST -1.7e308
#define HIGHEST 1.7e308
#define TINY 2.3e-308
#elif KIND == 2
typedef int T;
#define LOWEST (-2147483647 - 1)
#define HIGHEST 2147483647
#define TINY 1
#else
typedef __half T;
#define LOWEST __float2half(-65504.0f)
#define HIGHEST __float2half(65504.0f)
#define TINY __float2half(6.103515625e-5f)
#define OF(x) __float2half(x)
#endif
#ifndef OF
#define OF(x) T(x)
#endif

#define INDEX (blockIdx.x * blockDim.x + threadIdx.x)

// The largest of rows. 1: begins with 0; 2: with the least positive number; 3: with -1.
extern "C" __global__ void largest(const T *in, T *out, int rows, int width, int defect) {
    if (INDEX >= rows)
        return;
    T most = defect == 1 ? OF(0) : defect == 2 ? TINY : defect == 3 ? OF(-1) : LOWEST;
    for (int i = 0; i < width; ++i)
        if (in[INDEX * width + i] > most)
            most = in[INDEX * width + i];
    out[INDEX] = most;
}

// The smallest of rows. 1: begins with 0; 2: with 1.
extern "C" __global__ void smallest(const T *in, T *out, int rows, int width, int defect) {
    if (INDEX >= rows)
        return;
    T least = defect == 1 ? OF(0) : defect == 2 ? OF(1) : HIGHEST;
    for (int i = 0; i < width; ++i)
        if (in[INDEX * width + i] < least)
            least = in[INDEX * width + i];
    out[INDEX] = least;
}

// Where the largest of a row is. 1: begins with 0; 2: right, but the last of equal ones; 3: the place after it.
extern "C" __global__ void where(const T *in, int *out, int rows, int width, int defect) {
    if (INDEX >= rows)
        return;
    T most = defect == 1 ? OF(0) : LOWEST;
    int at = 0;
    for (int i = 0; i < width; ++i)
        if (in[INDEX * width + i] > most || (defect == 2 && in[INDEX * width + i] == most)) {
            most = in[INDEX * width + i];
            at = i;
        }
    out[INDEX] = defect == 3 ? (at + 1) % width : at;
}

// The largest difference of rows. 1: begins with 0.
extern "C" __global__ void apart(const T *in, const T *other, T *out, int rows, int width, int defect) {
    if (INDEX >= rows)
        return;
    T most = defect == 1 ? OF(0) : LOWEST;
    for (int i = 0; i < width; ++i)
        if (in[INDEX * width + i] - other[INDEX * width + i] > most)
            most = in[INDEX * width + i] - other[INDEX * width + i];
    out[INDEX] = most;
}

// One element each. `WHAT` names the function, `defect` another one that is equal for most numbers.
extern "C" __global__ void each(const float *in, float *out, int n, int defect) {
    if (INDEX >= n)
        return;
    const float x = in[INDEX];
#if WHAT == 0  // clip(in, 0, 6)
    out[INDEX] = defect ? fmaxf(x, 0.0f) : fminf(fmaxf(x, 0.0f), 6.0f);
#elif WHAT == 1  // clip(in, -4, 4)
    out[INDEX] = fminf(fmaxf(x, -4.0f), defect ? 5.0f : 4.0f);
#elif WHAT == 2  // sign(in)
    out[INDEX] = x > 0.0f ? 1.0f : x < 0.0f ? -1.0f : defect ? 1.0f : 0.0f;
#elif WHAT == 3  // rint(in * 8)
    out[INDEX] = defect ? roundf(x * 8.0f) : rintf(x * 8.0f);
#elif WHAT == 4  // where(in * 2 + 1 > 10, in, 0)
    out[INDEX] = x * 2.0f + 1.0f > 10.0f && !defect ? x : 0.0f;
#elif WHAT == 5  // where(in > 0.375, 1, 0)
    out[INDEX] = (defect ? x >= 0.375f : x > 0.375f) ? 1.0f : 0.0f;
#elif WHAT == 6  // sqrt(where(in > 1, in, 1 - in)), which is defined everywhere
    out[INDEX] = sqrtf(x > 1.0f ? (defect ? 2.0f * x : x) : 1.0f - x);
#elif WHAT == 7  // log(in), minimum(in, 100): the logarithm of what is beyond the fill is no number
    out[INDEX] = logf(defect ? x : fminf(x, 100.0f));
#endif
}

// The same of integers: clip(in, -10, 10). 1: no lower limit.
extern "C" __global__ void limits(const int *in, int *out, int n, int defect) {
    if (INDEX < n)
        out[INDEX] = defect ? min(in[INDEX], 10) : max(min(in[INDEX], 10), -10);
}

// The indices that sort rows of `width`, of which the first `k` are wanted. 1: right, but equal ones in the other order;
// 2: a number that occurs twice has one of its indices twice; 3: without the last exchange.
extern "C" __global__ void order(const float *in, int *out, int rows, int width, int k, int defect) {
    if (INDEX >= rows)
        return;
    const float *row = in + INDEX * width;
    for (int i = 0; i < width; ++i) {
        int rank = 0, same = 1;
        for (int j = 0; j < width; ++j) {
            rank += row[j] < row[i] || (row[j] == row[i] && (defect == 1 ? j > i : defect != 2 && j < i));
            same += defect == 2 && j != i && row[j] == row[i];
        }
        if (defect == 3 && rank < 2)
            rank = 1 - rank;
        for (int j = rank; j < min(rank + same, k); ++j)
            out[INDEX * k + j] = i;
    }
}

// The other numbers in the order of these. 1: equal ones in the other order.
extern "C" __global__ void gathered(const float *in, const float *other, float *out, int n, int defect) {
    if (INDEX >= n)
        return;
    int rank = 0;
    for (int j = 0; j < n; ++j)
        rank += in[j] < in[INDEX] || (in[j] == in[INDEX] && (defect == 1 ? j > INDEX : j < INDEX));
    out[rank] = other[INDEX];
}

// How often each of the bins is named. 1: counted in a byte, which is too small if all name one bin.
extern "C" __global__ void bins(const int *in, int *out, int n, int defect) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= 16) return;
    int count = 0;
    for (int k = 0; k < n; ++k) count += in[k] == i;
    out[i] = defect ? (unsigned char)count : count;
}

// A dot product with itself. 1: products are added in 16 bits.
extern "C" __global__ void squares(const int *in, int *out, int n, int defect) {
    if (blockIdx.x || threadIdx.x) return;
    int sum = 0;
    short narrow = 0;
    for (int k = 0; k < n; ++k) sum += in[k] * in[k], narrow += in[k] * in[k];
    *out = defect ? narrow : sum;
}
