// Conversions of a 16-bit format: with the integers, such as __half2int_rz and __int2half_rn, and with what both formats
// convert alike.
//
// rn: to nearest even, rz: towards zero, rd: down, ru: up.
#pragma once

#define SIMT_WITH_INTEGER(NAME, NUMBER, FORMAT, WORD, INTEGER)                                                        \
    inline INTEGER __##NAME##2##WORD##_rn(NUMBER x) { return simt::to_integer<INTEGER>(nearbyintf(x)); }              \
    inline INTEGER __##NAME##2##WORD##_rz(NUMBER x) { return simt::to_integer<INTEGER>(truncf(x)); }                  \
    inline INTEGER __##NAME##2##WORD##_rd(NUMBER x) { return simt::to_integer<INTEGER>(floorf(x)); }                  \
    inline INTEGER __##NAME##2##WORD##_ru(NUMBER x) { return simt::to_integer<INTEGER>(ceilf(x)); }                   \
    inline NUMBER __##WORD##2##NAME##_rn(INTEGER x) { return x; }                                                     \
    inline NUMBER __##WORD##2##NAME##_rz(INTEGER x) {                                                                 \
        return NUMBER##_raw{simt::encode<FORMAT>(simt::as_double(x), simt::Rounding::towards_zero)};                  \
    }                                                                                                                 \
    inline NUMBER __##WORD##2##NAME##_rd(INTEGER x) {                                                                 \
        return NUMBER##_raw{simt::encode<FORMAT>(simt::as_double(x), simt::Rounding::down)};                          \
    }                                                                                                                 \
    inline NUMBER __##WORD##2##NAME##_ru(INTEGER x) {                                                                 \
        return NUMBER##_raw{simt::encode<FORMAT>(simt::as_double(x), simt::Rounding::up)};                            \
    }
#define SIMT_WITH_INTEGERS(NAME, NUMBER, FORMAT)                                                       \
    SIMT_WITH_INTEGER(NAME, NUMBER, FORMAT, short, short)                                              \
    SIMT_WITH_INTEGER(NAME, NUMBER, FORMAT, ushort, unsigned short)                                    \
    SIMT_WITH_INTEGER(NAME, NUMBER, FORMAT, int, int)                                                  \
    SIMT_WITH_INTEGER(NAME, NUMBER, FORMAT, uint, unsigned)                                            \
    SIMT_WITH_INTEGER(NAME, NUMBER, FORMAT, ll, long long)                                             \
    SIMT_WITH_INTEGER(NAME, NUMBER, FORMAT, ull, unsigned long long)                                   \
    inline signed char __##NAME##2char_rz(NUMBER x) { return x; }                                      \
    inline unsigned char __##NAME##2uchar_rz(NUMBER x) { return x; }
// Those, and conversions with the bits, with float, and of pairs.
#define SIMT_WITH_CONVERSIONS(NAME, NUMBER, PAIR, FORMAT)                                                             \
    SIMT_WITH_INTEGERS(NAME, NUMBER, FORMAT)                                                                          \
    inline short __##NAME##_as_short(NUMBER x) { return short(simt::bits_of(x)); }                                    \
    inline unsigned short __##NAME##_as_ushort(NUMBER x) { return simt::bits_of(x); }                                 \
    inline NUMBER __short_as_##NAME(short bits) { return NUMBER##_raw{(unsigned short)bits}; }                        \
    inline NUMBER __ushort_as_##NAME(unsigned short bits) { return NUMBER##_raw{bits}; }                              \
    inline float __##NAME##2float(NUMBER x) { return x; }                                                             \
    inline NUMBER __float2##NAME(float x) { return x; }                                                               \
    inline NUMBER __double2##NAME(double x) { return x; }                                                             \
    inline NUMBER __float2##NAME##_rn(float x) { return x; }                                                          \
    inline NUMBER __float2##NAME##_rz(float x) {                                                                      \
        return NUMBER##_raw{simt::encode<FORMAT>(x, simt::Rounding::towards_zero)};                                   \
    }                                                                                                                 \
    inline NUMBER __float2##NAME##_rd(float x) { return NUMBER##_raw{simt::encode<FORMAT>(x, simt::Rounding::down)}; }\
    inline NUMBER __float2##NAME##_ru(float x) { return NUMBER##_raw{simt::encode<FORMAT>(x, simt::Rounding::up)}; }  \
    inline PAIR make_##NAME##2(NUMBER x, NUMBER y) { return {x, y}; }                                                 \
    inline PAIR __halves2##NAME##2(NUMBER x, NUMBER y) { return {x, y}; }                                             \
    inline PAIR __##NAME##2##NAME##2(NUMBER x) { return {x, x}; }                                                     \
    inline PAIR __float2##NAME##2_rn(float x) { return {x, x}; }                                                      \
    inline PAIR __floats2##NAME##2_rn(float x, float y) { return {x, y}; }                                            \
    inline PAIR __float22##NAME##2_rn(float2 a) { return {a.x, a.y}; }                                                \
    inline float2 __##NAME##22float2(PAIR a) { return {a.x, a.y}; }                                                   \
    inline NUMBER __low2##NAME(PAIR a) { return a.x; }                                                                \
    inline NUMBER __high2##NAME(PAIR a) { return a.y; }                                                               \
    inline PAIR __low2##NAME##2(PAIR a) { return {a.x, a.x}; }                                                        \
    inline PAIR __high2##NAME##2(PAIR a) { return {a.y, a.y}; }                                                       \
    inline PAIR __lows2##NAME##2(PAIR a, PAIR b) { return {a.x, b.x}; }                                               \
    inline PAIR __highs2##NAME##2(PAIR a, PAIR b) { return {a.y, b.y}; }
