// Parts of the planted kernels for every type. `variant` chooses a correct way to compute, `defect` a mistake; 0 is none.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#if !defined(BLOCK) || !defined(SCALAR)
#error "this kernel needs the macros BLOCK, SCALAR"
#endif

// A number in the type that most kernels compute with: half types as float, short integers as int.
__device__ inline float wide(__half x) { return __half2float(x); }
__device__ inline float wide(__nv_bfloat16 x) { return __bfloat162float(x); }
__device__ inline float wide(float x) { return x; }
__device__ inline double wide(double x) { return x; }
__device__ inline int wide(signed char x) { return x; }
__device__ inline int wide(int x) { return x; }
__device__ inline unsigned int wide(unsigned int x) { return x; }
__device__ inline long long wide(long long x) { return x; }
using Element = SCALAR;
using Wide = decltype(wide(Element()));

template <class T>
struct Widest { using type = double; };
template <>
struct Widest<int> { using type = long long; };
template <>
struct Widest<unsigned int> { using type = long long; };
template <>
struct Widest<long long> { using type = long long; };

// a * b + c, rounded once.
__device__ inline float contracted(float a, float b, float c) { return fmaf(a, b, c); }
__device__ inline double contracted(double a, double b, double c) { return fma(a, b, c); }
__device__ inline int contracted(int a, int b, int c) { return a * b + c; }

// The number in another type.
template <class To, class From>
__device__ inline To as(From x) { return To(wide(x)); }

// Stores element i of n. Defects of any output: 20 zeros, 21 twice the value, 22 0.9 of it, 23 one element further,
// 24 not the last.
template <class To, class Value>
__device__ inline void store(To* out, int i, int n, Value value, int defect)
{
    if (defect == 20) value = Value(0);
    if (defect == 21) value = value * Value(2);
    if (defect == 22) value = value - value / Value(10);
    if (defect == 23) i = (i + 1) % n;
    if (defect == 24 && i == n - 1) return;
    out[i] = as<To>(value);
}

// Stores a function of each element.
template <class Function>
__device__ void each(const SCALAR* x, SCALAR* out, int n, int defect, const Function& function)
{
    const int i = blockIdx.x * BLOCK + threadIdx.x;
    if (i < n) store(out, i, n, Wide(function(wide(x[i]))), defect);
}
