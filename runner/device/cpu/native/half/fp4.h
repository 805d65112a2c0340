// The floating-point format of 4 bits: e2m1, with the numbers 0, 0.5, 1, 1.5, 2, 3, 4, 6, and no infinity and NaN.
#pragma once

#include "fp8.h"

typedef unsigned char __nv_fp4_storage_t;
typedef unsigned char __nv_fp4x2_storage_t;
typedef unsigned short __nv_fp4x4_storage_t;
enum __nv_fp4_interpretation_t { __NV_E2M1 };
enum cudaRoundMode { cudaRoundNearest, cudaRoundZero, cudaRoundPosInf, cudaRoundMinInf };

namespace simt {

inline float decode_4(uint8_t bits) {
    const int exponent = bits >> 1 & 3, fraction = bits & 1;
    const float value = exponent ? ldexpf(float(2 + fraction), exponent - 2) : float(fraction) / 2;
    return bits & 8 ? -value : value;
}

// The nearest number, to even in a tie; NaN becomes the largest. CUDA has this rounding only.
__attribute__((noinline)) inline uint8_t encode_4(double x) {
    if (x != x) return 7;
    const double magnitude = fabs(x), code = magnitude == 0 ? 0 : magnitude > 6 ? 7 : nearest_code(magnitude, 1, 0);
    return uint8_t((signbit(x) ? 8 : 0) | int(code));
}

}  // namespace simt

#define SIMT_TO_FP4(NAME, ONE, TWO, VALUE)                                                                           \
    inline __nv_fp4_storage_t __nv_cvt_##NAME##_to_fp4(ONE x, __nv_fp4_interpretation_t, cudaRoundMode) {            \
        return simt::encode_4(double(VALUE(x)));                                                                     \
    }                                                                                                                \
    inline __nv_fp4x2_storage_t __nv_cvt_##NAME##2_to_fp4x2(TWO x, __nv_fp4_interpretation_t, cudaRoundMode) {       \
        return simt::encode_4(double(VALUE(x.x))) | simt::encode_4(double(VALUE(x.y))) << 4;                         \
    }
SIMT_TO_FP4(float, float, float2, float)
SIMT_TO_FP4(double, double, double2, double)
SIMT_TO_FP4(halfraw, __half_raw, __half2_raw, simt::half_value)
SIMT_TO_FP4(bfloat16raw, __nv_bfloat16_raw, __nv_bfloat162_raw, simt::bfloat16_value)
#undef SIMT_TO_FP4
inline __half_raw __nv_cvt_fp4_to_halfraw(__nv_fp4_storage_t x, __nv_fp4_interpretation_t) {
    return __half(simt::decode_4(x));
}
inline __half2_raw __nv_cvt_fp4x2_to_halfraw2(__nv_fp4x2_storage_t x, __nv_fp4_interpretation_t) {
    return __half2(__half(simt::decode_4(x)), __half(simt::decode_4(x >> 4)));
}

struct __nv_fp4_e2m1 {
    __nv_fp4_e2m1() = default;
    explicit __nv_fp4_e2m1(float x) : __x(simt::encode_4(x)) {}
    explicit __nv_fp4_e2m1(double x) : __x(simt::encode_4(x)) {}
    explicit __nv_fp4_e2m1(__half x) : __nv_fp4_e2m1(float(x)) {}
    explicit __nv_fp4_e2m1(__nv_bfloat16 x) : __nv_fp4_e2m1(float(x)) {}
    explicit operator float() const { return simt::decode_4(__x); }
    explicit operator double() const { return simt::decode_4(__x); }
    explicit operator __half() const { return __half(simt::decode_4(__x)); }
    explicit operator __nv_bfloat16() const { return __nv_bfloat16(simt::decode_4(__x)); }
    __nv_fp4_storage_t __x;
};
struct __nv_fp4x2_e2m1 {
    __nv_fp4x2_e2m1() = default;
    explicit __nv_fp4x2_e2m1(float2 x) : __x(__nv_cvt_float2_to_fp4x2(x, __NV_E2M1, cudaRoundNearest)) {}
    explicit __nv_fp4x2_e2m1(__half2 x) : __x(__nv_cvt_halfraw2_to_fp4x2(x, __NV_E2M1, cudaRoundNearest)) {}
    explicit __nv_fp4x2_e2m1(__nv_bfloat162 x) : __x(__nv_cvt_bfloat16raw2_to_fp4x2(x, __NV_E2M1, cudaRoundNearest)) {}
    explicit operator float2() const { return {simt::decode_4(__x), simt::decode_4(__x >> 4)}; }
    explicit operator __half2() const { return __nv_cvt_fp4x2_to_halfraw2(__x, __NV_E2M1); }
    __nv_fp4x2_storage_t __x;
};
struct __nv_fp4x4_e2m1 {
    __nv_fp4x4_e2m1() = default;
    explicit __nv_fp4x4_e2m1(float4 x)
        : __x(__nv_fp4x4_storage_t(__nv_fp4x2_e2m1(float2{x.x, x.y}).__x | __nv_fp4x2_e2m1(float2{x.z, x.w}).__x << 8)) {}
    explicit operator float4() const {
        return {simt::decode_4(__x), simt::decode_4(__x >> 4), simt::decode_4(__x >> 8), simt::decode_4(__x >> 12)};
    }
    __nv_fp4x4_storage_t __x;
};
