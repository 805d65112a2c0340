// Two halfwords or four bytes in one word, each computed by itself; and sums and products of such.
#pragma once

namespace simt {

// `compute` of each unit of the words, as a word again. A result is cut to the unit's size.
template <class Unit, class Compute, class... Words>
SIMT_ALWAYS_INLINE unsigned unit_by_unit(Compute compute, Words... words) {
    using Bits = typename std::make_unsigned<Unit>::type;
    constexpr unsigned size = 8 * sizeof(Unit);
    unsigned all = 0;
    for (unsigned at = 0; at < 32; at += size) all |= unsigned(Bits(compute(int(Unit(words >> at))...))) << at;
    return all;
}

template <class Unit, class Compute>
SIMT_ALWAYS_INLINE unsigned sum_of_units(Compute compute, unsigned a, unsigned b) {
    unsigned sum = 0;
    for (unsigned at = 0; at < 32; at += 8 * sizeof(Unit)) sum += unsigned(compute(int(Unit(a >> at)), int(Unit(b >> at))));
    return sum;
}

// The nearest number that the unit can hold.
template <class Unit>
SIMT_ALWAYS_INLINE int clamped(int x) {
    constexpr int size = 8 * sizeof(Unit);
    constexpr int lowest = std::is_signed<Unit>::value ? -(1 << (size - 1)) : 0;
    constexpr int highest = lowest + (1 << size) - 1;
    return x < lowest ? lowest : x > highest ? highest : x;
}

}  // namespace simt

#define SIMT_OF_ONE(NAME, UNIT, ...) \
    SIMT_IF_USED unsigned NAME(unsigned x) { return simt::unit_by_unit<UNIT>([](int a) { return int(__VA_ARGS__); }, x); }
#define SIMT_OF_TWO(NAME, UNIT, ...)                                                          \
    SIMT_IF_USED unsigned NAME(unsigned x, unsigned y) {                                      \
        return simt::unit_by_unit<UNIT>([](int a, int b) { return int(__VA_ARGS__); }, x, y); \
    }
#define SIMT_SUM(NAME, UNIT) \
    SIMT_IF_USED unsigned NAME(unsigned x, unsigned y) { \
        return simt::sum_of_units<UNIT>([](int a, int b) { return a < b ? b - a : a - b; }, x, y); \
    }
// Each comparison in two forms: all bits of the unit, or 1.
#define SIMT_COMPARISON(NAME, UNITS, UNIT, OPERATOR)             \
    SIMT_OF_TWO(__vcmp##NAME##UNITS, UNIT, a OPERATOR b ? -1 : 0) \
    SIMT_OF_TWO(__vset##NAME##UNITS, UNIT, a OPERATOR b)
#define SIMT_ORDERED(UNITS, LETTER, UNIT)                                 \
    SIMT_OF_TWO(__vmax##LETTER##UNITS, UNIT, a < b ? b : a)               \
    SIMT_OF_TWO(__vmin##LETTER##UNITS, UNIT, b < a ? b : a)               \
    SIMT_OF_TWO(__vabsdiff##LETTER##UNITS, UNIT, a < b ? b - a : a - b)   \
    SIMT_SUM(__vsad##LETTER##UNITS, UNIT)                                 \
    SIMT_OF_TWO(__vadd##LETTER##s##UNITS, UNIT, simt::clamped<UNIT>(a + b)) \
    SIMT_OF_TWO(__vsub##LETTER##s##UNITS, UNIT, simt::clamped<UNIT>(a - b)) \
    SIMT_COMPARISON(lt##LETTER, UNITS, UNIT, <)                           \
    SIMT_COMPARISON(le##LETTER, UNITS, UNIT, <=)                          \
    SIMT_COMPARISON(gt##LETTER, UNITS, UNIT, >)                           \
    SIMT_COMPARISON(ge##LETTER, UNITS, UNIT, >=)
#define SIMT_UNITS(UNITS, SIGNED, UNSIGNED)                                                       \
    SIMT_OF_TWO(__vadd##UNITS, UNSIGNED, a + b)                                                   \
    SIMT_OF_TWO(__vsub##UNITS, UNSIGNED, a - b)                                                   \
    SIMT_COMPARISON(eq, UNITS, UNSIGNED, ==)                                                      \
    SIMT_COMPARISON(ne, UNITS, UNSIGNED, !=)                                                      \
    SIMT_ORDERED(UNITS, s, SIGNED)                                                                \
    SIMT_ORDERED(UNITS, u, UNSIGNED)                                                              \
    SIMT_OF_ONE(__vabs##UNITS, SIGNED, a < 0 ? -a : a)                                            \
    SIMT_OF_ONE(__vabsss##UNITS, SIGNED, simt::clamped<SIGNED>(a < 0 ? -a : a))                   \
    SIMT_OF_ONE(__vneg##UNITS, SIGNED, -a)                                                        \
    SIMT_OF_ONE(__vnegss##UNITS, SIGNED, simt::clamped<SIGNED>(-a))                               \
    SIMT_OF_TWO(__vhaddu##UNITS, UNSIGNED, (a + b) >> 1)                                          \
    SIMT_OF_TWO(__vavgu##UNITS, UNSIGNED, (a + b + 1) >> 1)                                       \
    SIMT_OF_TWO(__vavgs##UNITS, SIGNED, (a + b + (a + b >= 0)) >> 1) /* a tie goes away from zero, or up */
SIMT_UNITS(2, int16_t, uint16_t)
SIMT_UNITS(4, int8_t, uint8_t)
#undef SIMT_UNITS
#undef SIMT_ORDERED
#undef SIMT_COMPARISON
#undef SIMT_SUM
#undef SIMT_OF_TWO
#undef SIMT_OF_ONE

// Minima and maxima of three, or of a sum and a number; `relu`: at least 0. Of one word, and of its halfwords.
#define SIMT_OF_WORDS(NAME, T, ...) \
    SIMT_IF_USED T NAME(T a, T b, T c) { return __VA_ARGS__; }
#define SIMT_OF_HALFWORDS(NAME, UNIT, ...)                                                           \
    SIMT_IF_USED unsigned NAME(unsigned x, unsigned y, unsigned z) {                                 \
        return simt::unit_by_unit<UNIT>([](int a, int b, int c) { return int(__VA_ARGS__); }, x, y, z); \
    }
#define SIMT_EXTREMES(OF, NAME, T, WHICH)                           \
    OF(__vi##WHICH##3_##NAME, T, WHICH(WHICH(T(a), T(b)), T(c)))    \
    OF(__viadd##WHICH##_##NAME, T, WHICH(T(a + b), T(c)))
#define SIMT_EXTREMES_FROM_0(OF, NAME, T, WHICH)                                      \
    OF(__vi##WHICH##3_##NAME##_relu, T, max(WHICH(WHICH(T(a), T(b)), T(c)), T(0)))    \
    OF(__viadd##WHICH##_##NAME##_relu, T, max(WHICH(T(a + b), T(c)), T(0)))
SIMT_EXTREMES(SIMT_OF_WORDS, s32, int, max)
SIMT_EXTREMES(SIMT_OF_WORDS, s32, int, min)
SIMT_EXTREMES(SIMT_OF_WORDS, u32, unsigned, max)
SIMT_EXTREMES(SIMT_OF_WORDS, u32, unsigned, min)
SIMT_EXTREMES_FROM_0(SIMT_OF_WORDS, s32, int, max)
SIMT_EXTREMES_FROM_0(SIMT_OF_WORDS, s32, int, min)
SIMT_EXTREMES(SIMT_OF_HALFWORDS, s16x2, int16_t, max)
SIMT_EXTREMES(SIMT_OF_HALFWORDS, s16x2, int16_t, min)
SIMT_EXTREMES(SIMT_OF_HALFWORDS, u16x2, uint16_t, max)
SIMT_EXTREMES(SIMT_OF_HALFWORDS, u16x2, uint16_t, min)
SIMT_EXTREMES_FROM_0(SIMT_OF_HALFWORDS, s16x2, int16_t, max)
SIMT_EXTREMES_FROM_0(SIMT_OF_HALFWORDS, s16x2, int16_t, min)
#undef SIMT_EXTREMES
#undef SIMT_EXTREMES_FROM_0
#undef SIMT_OF_HALFWORDS
#undef SIMT_OF_WORDS

inline int __vimax_s32_relu(int a, int b) { return max(max(a, b), 0); }
inline int __vimin_s32_relu(int a, int b) { return max(min(a, b), 0); }
inline unsigned __vimax_s16x2_relu(unsigned a, unsigned b) { return __vmaxs2(__vmaxs2(a, b), 0); }
inline unsigned __vimin_s16x2_relu(unsigned a, unsigned b) { return __vmaxs2(__vmins2(a, b), 0); }

// The extreme of two, and whether it is the first one.
inline int __vibmax_s32(int a, int b, bool* first) { return *first = a >= b, max(a, b); }
inline int __vibmin_s32(int a, int b, bool* first) { return *first = a <= b, min(a, b); }
inline unsigned __vibmax_u32(unsigned a, unsigned b, bool* first) { return *first = a >= b, max(a, b); }
inline unsigned __vibmin_u32(unsigned a, unsigned b, bool* first) { return *first = a <= b, min(a, b); }
#define SIMT_EXTREME_OF_PAIRS(NAME, EXTREME, COMPARISON)                                       \
    SIMT_IF_USED unsigned NAME(unsigned a, unsigned b, bool* high_is_first, bool* low_is_first) { \
        const unsigned firsts = COMPARISON(a, b);                                              \
        *high_is_first = firsts >> 16;                                                         \
        *low_is_first = firsts & 1;                                                            \
        return EXTREME(a, b);                                                                  \
    }
SIMT_EXTREME_OF_PAIRS(__vibmax_s16x2, __vmaxs2, __vsetges2)
SIMT_EXTREME_OF_PAIRS(__vibmin_s16x2, __vmins2, __vsetles2)
SIMT_EXTREME_OF_PAIRS(__vibmax_u16x2, __vmaxu2, __vsetgeu2)
SIMT_EXTREME_OF_PAIRS(__vibmin_u16x2, __vminu2, __vsetleu2)
#undef SIMT_EXTREME_OF_PAIRS

namespace simt {

template <class First, class Second>
inline unsigned dot(unsigned a, unsigned b, unsigned sum) {
    for (unsigned i = 0; i < 4 / sizeof(First); ++i) {
        sum += unsigned(int(First(a >> (8 * sizeof(First) * i))) * int(Second(b >> (8 * sizeof(Second) * i))));
    }
    return sum;
}

}  // namespace simt

// Dot products, added to a number: of four bytes with four, and of two halfwords with the two bytes of the second
// word's lower or upper half.
#define SIMT_DOT_PRODUCTS(T, BYTE, BYTES, HALFWORD, HALFWORDS)                                                          \
    SIMT_IF_USED T __dp4a(T a, T b, T c) { return T(simt::dot<BYTE, BYTE>(unsigned(a), unsigned(b), unsigned(c))); }    \
    SIMT_IF_USED T __dp2a_lo(T a, T b, T c) { return T(simt::dot<HALFWORD, BYTE>(unsigned(a), unsigned(b), unsigned(c))); } \
    SIMT_IF_USED T __dp2a_hi(T a, T b, T c) {                                                                           \
        return T(simt::dot<HALFWORD, BYTE>(unsigned(a), unsigned(b) >> 16, unsigned(c)));                               \
    }                                                                                                                   \
    SIMT_IF_USED T __dp4a(BYTES a, BYTES b, T c) { return __dp4a(simt::bit_cast<T>(a), simt::bit_cast<T>(b), c); }      \
    SIMT_IF_USED T __dp2a_lo(HALFWORDS a, BYTES b, T c) { return __dp2a_lo(simt::bit_cast<T>(a), simt::bit_cast<T>(b), c); } \
    SIMT_IF_USED T __dp2a_hi(HALFWORDS a, BYTES b, T c) { return __dp2a_hi(simt::bit_cast<T>(a), simt::bit_cast<T>(b), c); }
SIMT_DOT_PRODUCTS(int, int8_t, char4, int16_t, short2)
SIMT_DOT_PRODUCTS(unsigned, uint8_t, uchar4, uint16_t, ushort2)
#undef SIMT_DOT_PRODUCTS
