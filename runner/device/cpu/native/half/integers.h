// Conversions between a 16-bit format and the integers, such as __half2int_rz and __int2half_rn.
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
