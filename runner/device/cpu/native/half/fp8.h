// The two floating-point formats of 8 bits. Nothing computes in them: numbers are converted, and saturate.
#pragma once

#include "fp16.h"

#include "bf16.h"

typedef unsigned char __nv_fp8_storage_t;
enum __nv_saturation_t { __NV_NOSAT, __NV_SATFINITE };
enum __nv_fp8_interpretation_t { __NV_E4M3, __NV_E5M2 };

namespace simt {

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

// The nearest number of the format, to even in a tie.
__attribute__((noinline)) inline uint8_t encode_8(double x, __nv_saturation_t saturate, __nv_fp8_interpretation_t format) {
    const uint8_t sign = signbit(x) ? 0x80 : 0;
    const bool e4m3 = format == __NV_E4M3;
    if (x != x) return 0x7f;
    const int fraction_bits = e4m3 ? 3 : 2, lowest = e4m3 ? -6 : -14;
    const uint8_t largest = e4m3 ? 0x7e : 0x7b, beyond = e4m3 ? 0x7f : 0x7c;
    const double magnitude = fabs(x);
    if (magnitude == 0) return sign;
    if (isinf(x)) return sign | (saturate ? largest : beyond);
    int exponent = ilogb(magnitude);
    exponent = exponent < lowest ? lowest : exponent;
    const double steps = nearbyint(ldexp(magnitude, fraction_bits - exponent));  // of the last place
    const double code = steps + ldexp(double(exponent - lowest), fraction_bits);
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

inline __nv_fp8_storage_t __nv_cvt_float_to_fp8(float x, __nv_saturation_t s, __nv_fp8_interpretation_t f) {
    return simt::encode_8(x, s, f);
}
inline __nv_fp8_storage_t __nv_cvt_double_to_fp8(double x, __nv_saturation_t s, __nv_fp8_interpretation_t f) {
    return simt::encode_8(x, s, f);
}
inline __half_raw __nv_cvt_fp8_to_halfraw(__nv_fp8_storage_t x, __nv_fp8_interpretation_t f) {
    return __half(simt::decode_8(x, f));
}
