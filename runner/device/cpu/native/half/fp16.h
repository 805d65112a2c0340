// __half and __half2: IEEE 754's binary16.
#pragma once

#include "format.h"
#include "integers.h"

struct __nv_bfloat16;  // for the conversion, which cuda_bf16.h defines

#define SIMT_NUMBER __half
#define SIMT_RAW __half_raw
#define SIMT_PAIR __half2
#define SIMT_PAIR_RAW __half2_raw
#define SIMT_OTHER_NUMBER __nv_bfloat16
#define SIMT_FORMAT simt::Binary16
#include "number.h"
#include "pair.h"
#undef SIMT_NUMBER
#undef SIMT_RAW
#undef SIMT_PAIR
#undef SIMT_PAIR_RAW
#undef SIMT_OTHER_NUMBER
#undef SIMT_FORMAT

using half = __half;
using half2 = __half2;
using nv_half = __half;
using nv_half2 = __half2;
using __nv_half = __half;
using __nv_half2 = __half2;
using __nv_half_raw = __half_raw;
using __nv_half2_raw = __half2_raw;

SIMT_WITH_INTEGERS(half, __half, simt::Binary16)

inline short __half_as_short(__half x) { return short(simt::bits_of(x)); }
inline unsigned short __half_as_ushort(__half x) { return simt::bits_of(x); }
inline __half __short_as_half(short bits) { return __half_raw{(unsigned short)bits}; }
inline __half __ushort_as_half(unsigned short bits) { return __half_raw{bits}; }

inline float __half2float(__half x) { return x; }
inline __half __float2half(float x) { return x; }
inline __half __double2half(double x) { return x; }
inline __half __float2half_rn(float x) { return x; }
inline __half __float2half_rz(float x) {
    return __half_raw{simt::encode<simt::Binary16>(x, simt::Rounding::towards_zero)};
}
inline __half __float2half_rd(float x) { return __half_raw{simt::encode<simt::Binary16>(x, simt::Rounding::down)}; }
inline __half __float2half_ru(float x) { return __half_raw{simt::encode<simt::Binary16>(x, simt::Rounding::up)}; }

inline __half2 make_half2(__half x, __half y) { return {x, y}; }
inline __half2 __halves2half2(__half x, __half y) { return {x, y}; }
inline __half2 __half2half2(__half x) { return {x, x}; }
inline __half2 __float2half2_rn(float x) { return {x, x}; }
inline __half2 __floats2half2_rn(float x, float y) { return {x, y}; }
inline __half2 __float22half2_rn(float2 a) { return {a.x, a.y}; }
inline float2 __half22float2(__half2 a) { return {a.x, a.y}; }
inline __half __low2half(__half2 a) { return a.x; }
inline __half __high2half(__half2 a) { return a.y; }
inline __half2 __low2half2(__half2 a) { return {a.x, a.x}; }
inline __half2 __high2half2(__half2 a) { return {a.y, a.y}; }
inline __half2 __lows2half2(__half2 a, __half2 b) { return {a.x, b.x}; }
inline __half2 __highs2half2(__half2 a, __half2 b) { return {a.y, b.y}; }

#define CUDART_ZERO_FP16 __ushort_as_half(0x0000)
#define CUDART_NEG_ZERO_FP16 __ushort_as_half(0x8000)
#define CUDART_ONE_FP16 __ushort_as_half(0x3c00)
#define CUDART_INF_FP16 __ushort_as_half(0x7c00)
#define CUDART_NAN_FP16 __ushort_as_half(0x7fff)
#define CUDART_MAX_NORMAL_FP16 __ushort_as_half(0x7bff)
#define CUDART_MIN_DENORM_FP16 __ushort_as_half(0x0001)
