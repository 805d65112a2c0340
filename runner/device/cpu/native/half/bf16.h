// __nv_bfloat16 and __nv_bfloat162: the upper half of a float.
#pragma once

#include "fp16.h"  // as in CUDA's header

#define SIMT_NUMBER __nv_bfloat16
#define SIMT_RAW __nv_bfloat16_raw
#define SIMT_PAIR __nv_bfloat162
#define SIMT_PAIR_RAW __nv_bfloat162_raw
#define SIMT_OTHER_NUMBER __half
#define SIMT_FORMAT simt::Bfloat16
#include "number.h"
#include "pair.h"
#undef SIMT_NUMBER
#undef SIMT_RAW
#undef SIMT_PAIR
#undef SIMT_PAIR_RAW
#undef SIMT_OTHER_NUMBER
#undef SIMT_FORMAT

using nv_bfloat16 = __nv_bfloat16;
using nv_bfloat162 = __nv_bfloat162;

SIMT_WITH_INTEGERS(bfloat16, __nv_bfloat16, simt::Bfloat16)

inline __half::__half(__nv_bfloat16 x) : __half(float(x)) {}
inline __nv_bfloat16::__nv_bfloat16(__half x) : __nv_bfloat16(float(x)) {}

inline short __bfloat16_as_short(__nv_bfloat16 x) { return short(simt::bits_of(x)); }
inline unsigned short __bfloat16_as_ushort(__nv_bfloat16 x) { return simt::bits_of(x); }
inline __nv_bfloat16 __short_as_bfloat16(short bits) { return __nv_bfloat16_raw{(unsigned short)bits}; }
inline __nv_bfloat16 __ushort_as_bfloat16(unsigned short bits) { return __nv_bfloat16_raw{bits}; }

inline float __bfloat162float(__nv_bfloat16 x) { return x; }
inline __nv_bfloat16 __float2bfloat16(float x) { return x; }
inline __nv_bfloat16 __double2bfloat16(double x) { return x; }
inline __nv_bfloat16 __float2bfloat16_rn(float x) { return x; }
inline __nv_bfloat16 __float2bfloat16_rz(float x) {
    return __nv_bfloat16_raw{simt::encode<simt::Bfloat16>(x, simt::Rounding::towards_zero)};
}
inline __nv_bfloat16 __float2bfloat16_rd(float x) {
    return __nv_bfloat16_raw{simt::encode<simt::Bfloat16>(x, simt::Rounding::down)};
}
inline __nv_bfloat16 __float2bfloat16_ru(float x) {
    return __nv_bfloat16_raw{simt::encode<simt::Bfloat16>(x, simt::Rounding::up)};
}

inline __nv_bfloat162 make_bfloat162(__nv_bfloat16 x, __nv_bfloat16 y) { return {x, y}; }
inline __nv_bfloat162 __halves2bfloat162(__nv_bfloat16 x, __nv_bfloat16 y) { return {x, y}; }
inline __nv_bfloat162 __bfloat162bfloat162(__nv_bfloat16 x) { return {x, x}; }
inline __nv_bfloat162 __float2bfloat162_rn(float x) { return {x, x}; }
inline __nv_bfloat162 __floats2bfloat162_rn(float x, float y) { return {x, y}; }
inline __nv_bfloat162 __float22bfloat162_rn(float2 a) { return {a.x, a.y}; }
inline float2 __bfloat1622float2(__nv_bfloat162 a) { return {a.x, a.y}; }
inline __nv_bfloat16 __low2bfloat16(__nv_bfloat162 a) { return a.x; }
inline __nv_bfloat16 __high2bfloat16(__nv_bfloat162 a) { return a.y; }
inline __nv_bfloat162 __low2bfloat162(__nv_bfloat162 a) { return {a.x, a.x}; }
inline __nv_bfloat162 __high2bfloat162(__nv_bfloat162 a) { return {a.y, a.y}; }
inline __nv_bfloat162 __lows2bfloat162(__nv_bfloat162 a, __nv_bfloat162 b) { return {a.x, b.x}; }
inline __nv_bfloat162 __highs2bfloat162(__nv_bfloat162 a, __nv_bfloat162 b) { return {a.y, b.y}; }

#define CUDART_ZERO_BF16 __ushort_as_bfloat16(0x0000)
#define CUDART_NEG_ZERO_BF16 __ushort_as_bfloat16(0x8000)
#define CUDART_ONE_BF16 __ushort_as_bfloat16(0x3f80)
#define CUDART_INF_BF16 __ushort_as_bfloat16(0x7f80)
#define CUDART_NAN_BF16 __ushort_as_bfloat16(0x7fff)
#define CUDART_MAX_NORMAL_BF16 __ushort_as_bfloat16(0x7f7f)
#define CUDART_MIN_DENORM_BF16 __ushort_as_bfloat16(0x0001)
