// The floating-point formats of 8 bits, and that of 4. Nothing computes in them: numbers are converted, and saturate.
#pragma once

#include "fp16.h"

#include "bf16.h"

typedef unsigned char __nv_fp8_storage_t;
typedef unsigned short __nv_fp8x2_storage_t;
typedef unsigned int __nv_fp8x4_storage_t;
enum __nv_saturation_t { __NV_NOSAT, __NV_SATFINITE };
enum __nv_fp8_interpretation_t { __NV_E4M3, __NV_E5M2 };

namespace simt {

inline float half_value(__half_raw x) { return Binary16::decode(x.x); }
inline float half_value(unsigned short x) { return Binary16::decode(x); }
inline float bfloat16_value(__nv_bfloat16_raw x) { return Bfloat16::decode(x.x); }
inline float bfloat16_value(unsigned short x) { return Bfloat16::decode(x); }

// e4m3 has no infinity: what would be one, and one more binade, are numbers; all bits set are NaN.
inline float decode_8(uint8_t bits, __nv_fp8_interpretation_t format) {
    const int fraction_bits = format == __NV_E4M3 ? 3 : 2, bias = format == __NV_E4M3 ? 7 : 15;
    const int magnitude = bits & 0x7f, exponent = magnitude >> fraction_bits, scale = 1 << fraction_bits;
    const int fraction = magnitude & (scale - 1);
    const bool top = format == __NV_E5M2 && exponent == 31;
    if (magnitude == 0x7f || (top && fraction)) return bit_cast<float>(0x7fffffffu);
    float value = exponent ? ldexpf(float(scale + fraction), exponent - bias - fraction_bits)
                           : ldexpf(float(fraction), 1 - bias - fraction_bits);
    if (top) value = bit_cast<float>(0x7f800000u);
    return bits & 0x80 ? -value : value;
}

// The number of the nearest value of a format, to even in a tie, without a sign; `lowest` is the least exponent.
inline double nearest_code(double magnitude, int fraction_bits, int lowest) {
    const int exponent = ilogb(magnitude) < lowest ? lowest : ilogb(magnitude);
    const double steps = nearbyint(ldexp(magnitude, fraction_bits - exponent));  // of the last place
    return steps + ldexp(double(exponent - lowest), fraction_bits);
}

__attribute__((noinline)) inline uint8_t encode_8(double x, __nv_saturation_t saturate, __nv_fp8_interpretation_t format) {
    const uint8_t sign = signbit(x) ? 0x80 : 0;
    const bool e4m3 = format == __NV_E4M3;
    if (x != x) return 0x7f;
    const int fraction_bits = e4m3 ? 3 : 2, lowest = e4m3 ? -6 : -14;
    const uint8_t largest = e4m3 ? 0x7e : 0x7b, beyond = e4m3 ? 0x7f : 0x7c;
    const double magnitude = fabs(x);
    if (magnitude == 0) return sign;
    if (isinf(x)) return sign | (saturate ? largest : beyond);
    const double code = nearest_code(magnitude, fraction_bits, lowest);
    return sign | (code <= largest ? uint8_t(code) : saturate ? largest : beyond);
}

}  // namespace simt

#define SIMT_FP8(NAME, FORMAT)                                                                                    \
    struct NAME {                                                                                                 \
        NAME() = default;                                                                                         \
        explicit NAME(float x) : __x(simt::encode_8(x, __NV_SATFINITE, FORMAT)) {}                                \
        explicit NAME(double x) : __x(simt::encode_8(x, __NV_SATFINITE, FORMAT)) {}                               \
        explicit NAME(__half x) : NAME(float(x)) {}                                                               \
        explicit NAME(__nv_bfloat16 x) : NAME(float(x)) {}                                                        \
        explicit NAME(int x) : NAME(double(x)) {}                                                                 \
        explicit NAME(unsigned x) : NAME(double(x)) {}                                                            \
        explicit operator float() const { return simt::decode_8(__x, FORMAT); }                                   \
        explicit operator double() const { return simt::decode_8(__x, FORMAT); }                                  \
        explicit operator __half() const { return __half(simt::decode_8(__x, FORMAT)); }                          \
        explicit operator __nv_bfloat16() const { return __nv_bfloat16(simt::decode_8(__x, FORMAT)); }            \
        explicit operator int() const { return int(simt::decode_8(__x, FORMAT)); }                                \
        explicit operator bool() const { return (__x & 0x7f) != 0; }                                              \
        __nv_fp8_storage_t __x;                                                                                   \
    };

SIMT_FP8(__nv_fp8_e4m3, __NV_E4M3)
SIMT_FP8(__nv_fp8_e5m2, __NV_E5M2)
#undef SIMT_FP8

// One number, and the lower and the higher half of two, from and to each other type.
inline __nv_fp8_storage_t __nv_cvt_double_to_fp8(double x, __nv_saturation_t s, __nv_fp8_interpretation_t f) {
    return simt::encode_8(x, s, f);
}
inline __nv_fp8x2_storage_t __nv_cvt_double2_to_fp8x2(double2 x, __nv_saturation_t s, __nv_fp8_interpretation_t f) {
    return simt::encode_8(x.x, s, f) | simt::encode_8(x.y, s, f) << 8;
}
#define SIMT_TO_FP8(NAME, ONE, TWO, VALUE)                                                                           \
    inline __nv_fp8_storage_t __nv_cvt_##NAME##_to_fp8(ONE x, __nv_saturation_t s, __nv_fp8_interpretation_t f) {   \
        return simt::encode_8(double(VALUE(x)), s, f);                                                               \
    }                                                                                                                \
    inline __nv_fp8x2_storage_t __nv_cvt_##NAME##2_to_fp8x2(TWO x, __nv_saturation_t s, __nv_fp8_interpretation_t f) { \
        return __nv_cvt_double2_to_fp8x2({double(VALUE(x.x)), double(VALUE(x.y))}, s, f);                            \
    }
SIMT_TO_FP8(float, float, float2, float)
SIMT_TO_FP8(halfraw, __half_raw, __half2_raw, simt::half_value)
SIMT_TO_FP8(bfloat16raw, __nv_bfloat16_raw, __nv_bfloat162_raw, simt::bfloat16_value)
#undef SIMT_TO_FP8
inline __half_raw __nv_cvt_fp8_to_halfraw(__nv_fp8_storage_t x, __nv_fp8_interpretation_t f) {
    return __half(simt::decode_8(x, f));
}
inline __half2_raw __nv_cvt_fp8x2_to_halfraw2(__nv_fp8x2_storage_t x, __nv_fp8_interpretation_t f) {
    return __half2(__half(simt::decode_8(x & 0xff, f)), __half(simt::decode_8(x >> 8, f)));
}

#define SIMT_FP8_VECTORS(NAME, FORMAT)                                                                               \
    struct __nv_fp8x2_##NAME {                                                                                       \
        __nv_fp8x2_##NAME() = default;                                                                               \
        explicit __nv_fp8x2_##NAME(float2 x) : __x(__nv_cvt_float2_to_fp8x2(x, __NV_SATFINITE, FORMAT)) {}           \
        explicit __nv_fp8x2_##NAME(__half2 x) : __x(__nv_cvt_halfraw2_to_fp8x2(x, __NV_SATFINITE, FORMAT)) {}        \
        explicit __nv_fp8x2_##NAME(__nv_bfloat162 x)                                                                 \
            : __x(__nv_cvt_bfloat16raw2_to_fp8x2(x, __NV_SATFINITE, FORMAT)) {}                                      \
        explicit operator __half2() const { return __nv_cvt_fp8x2_to_halfraw2(__x, FORMAT); }                        \
        explicit operator float2() const {                                                                           \
            return {simt::decode_8(__x & 0xff, FORMAT), simt::decode_8(__x >> 8, FORMAT)};                           \
        }                                                                                                            \
        __nv_fp8x2_storage_t __x;                                                                                    \
    };                                                                                                               \
    struct __nv_fp8x4_##NAME {                                                                                       \
        __nv_fp8x4_##NAME() = default;                                                                               \
        explicit __nv_fp8x4_##NAME(float4 x)                                                                         \
            : __x(__nv_fp8x2_##NAME(float2{x.x, x.y}).__x | unsigned(__nv_fp8x2_##NAME(float2{x.z, x.w}).__x) << 16) {} \
        explicit operator float4() const {                                                                           \
            return {simt::decode_8(__x & 0xff, FORMAT), simt::decode_8(__x >> 8 & 0xff, FORMAT),                     \
                    simt::decode_8(__x >> 16 & 0xff, FORMAT), simt::decode_8(__x >> 24, FORMAT)};                    \
        }                                                                                                            \
        __nv_fp8x4_storage_t __x;                                                                                    \
    };
SIMT_FP8_VECTORS(e4m3, __NV_E4M3)
SIMT_FP8_VECTORS(e5m2, __NV_E5M2)
#undef SIMT_FP8_VECTORS
