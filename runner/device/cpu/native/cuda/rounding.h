// Arithmetic and conversions with a rounding of their own: rn to nearest even, rz towards zero, rd down, ru up.
//
// The CPU computes them in that mode of its own, so each is the exact value rounded once, also where it overflows or is
// subnormal. The compiler takes every rounding for the usual one: the empty assembly keeps it from computing before the
// first switch of modes, or after the second one.
#pragma once

namespace simt {

template <class T>
SIMT_ALWAYS_INLINE void keep_in_place(T& value) {
    __asm__ volatile("" : "+m"(value) : : "memory");
}

template <class Result, class Compute, class... Operands>
inline Result rounded(int mode, Compute compute, Operands... operands) {
    fesetround(mode);
    (keep_in_place(operands), ...);
    Result result = compute(operands...);
    keep_in_place(result);
    fesetround(FE_TONEAREST);
    return result;
}

// As signed numbers: clang++ converts unsigned ones by a subtraction, which makes -0 of 0 when it rounds down. The bit
// that half of a number loses still counts for its rounding.
template <class Float>
inline Float from_unsigned(unsigned long long x) {
    return x >> 63 ? 2 * Float((long long)(x >> 1 | (x & 1))) : Float((long long)x);
}

}  // namespace simt

#define SIMT_ONE(T) T a
#define SIMT_TWO(T) T a, T b
#define SIMT_THREE(T) T a, T b, T c
#define SIMT_ROUNDED(NAME, RESULT, T, OPERANDS, VALUES, ...)                                                      \
    SIMT_IF_USED RESULT NAME##_rn(OPERANDS(T)) { return __VA_ARGS__; }                                            \
    SIMT_IF_USED RESULT NAME##_rz(OPERANDS(T)) {                                                                  \
        return simt::rounded<RESULT>(FE_TOWARDZERO, [](OPERANDS(T)) -> RESULT { return __VA_ARGS__; }, VALUES);   \
    }                                                                                                             \
    SIMT_IF_USED RESULT NAME##_rd(OPERANDS(T)) {                                                                  \
        return simt::rounded<RESULT>(FE_DOWNWARD, [](OPERANDS(T)) -> RESULT { return __VA_ARGS__; }, VALUES);     \
    }                                                                                                             \
    SIMT_IF_USED RESULT NAME##_ru(OPERANDS(T)) {                                                                  \
        return simt::rounded<RESULT>(FE_UPWARD, [](OPERANDS(T)) -> RESULT { return __VA_ARGS__; }, VALUES);       \
    }
#define SIMT_VALUES_1 a
#define SIMT_VALUES_2 a, b
#define SIMT_VALUES_3 a, b, c

SIMT_ROUNDED(__fadd, float, float, SIMT_TWO, SIMT_VALUES_2, a + b)
SIMT_ROUNDED(__fsub, float, float, SIMT_TWO, SIMT_VALUES_2, a - b)
SIMT_ROUNDED(__fmul, float, float, SIMT_TWO, SIMT_VALUES_2, a * b)
SIMT_ROUNDED(__fdiv, float, float, SIMT_TWO, SIMT_VALUES_2, a / b)
SIMT_ROUNDED(__fmaf, float, float, SIMT_THREE, SIMT_VALUES_3, fmaf(a, b, c))
SIMT_ROUNDED(__fmaf_ieee, float, float, SIMT_THREE, SIMT_VALUES_3, fmaf(a, b, c))
SIMT_ROUNDED(__frcp, float, float, SIMT_ONE, SIMT_VALUES_1, 1.0f / a)
SIMT_ROUNDED(__fsqrt, float, float, SIMT_ONE, SIMT_VALUES_1, sqrtf(a))
SIMT_ROUNDED(__dadd, double, double, SIMT_TWO, SIMT_VALUES_2, a + b)
SIMT_ROUNDED(__dsub, double, double, SIMT_TWO, SIMT_VALUES_2, a - b)
SIMT_ROUNDED(__dmul, double, double, SIMT_TWO, SIMT_VALUES_2, a * b)
SIMT_ROUNDED(__ddiv, double, double, SIMT_TWO, SIMT_VALUES_2, a / b)
SIMT_ROUNDED(__fma, double, double, SIMT_THREE, SIMT_VALUES_3, fma(a, b, c))
SIMT_ROUNDED(__drcp, double, double, SIMT_ONE, SIMT_VALUES_1, 1.0 / a)
SIMT_ROUNDED(__dsqrt, double, double, SIMT_ONE, SIMT_VALUES_1, sqrt(a))

SIMT_ROUNDED(__double2float, float, double, SIMT_ONE, SIMT_VALUES_1, float(a))
SIMT_ROUNDED(__int2float, float, int, SIMT_ONE, SIMT_VALUES_1, float(a))
SIMT_ROUNDED(__uint2float, float, unsigned, SIMT_ONE, SIMT_VALUES_1, float(a))
SIMT_ROUNDED(__ll2float, float, long long, SIMT_ONE, SIMT_VALUES_1, float(a))
SIMT_ROUNDED(__ll2double, double, long long, SIMT_ONE, SIMT_VALUES_1, double(a))
SIMT_ROUNDED(__ull2float, float, unsigned long long, SIMT_ONE, SIMT_VALUES_1, simt::from_unsigned<float>(a))
SIMT_ROUNDED(__ull2double, double, unsigned long long, SIMT_ONE, SIMT_VALUES_1, simt::from_unsigned<double>(a))
inline double __int2double_rn(int x) { return double(x); }
inline double __uint2double_rn(unsigned x) { return double(x); }

#undef SIMT_ROUNDED
#undef SIMT_ONE
#undef SIMT_TWO
#undef SIMT_THREE
#undef SIMT_VALUES_1
#undef SIMT_VALUES_2
#undef SIMT_VALUES_3

inline float __frsqrt_rn(float x) { return float(1.0 / sqrt(double(x))); }
