// The two 16-bit floating-point formats, as integers: from and to float and double.
//
// Nothing here relies on a 16-bit type of the compiler's, so that all of them, on all CPUs, give the same bits.
#pragma once

namespace simt {

enum class Rounding { nearest_even, towards_zero, down, up };

constexpr uint16_t nan_16 = 0x7fff;  // the one NaN that a GPU's arithmetic gives, in both formats

struct Binary16 {  // IEEE 754: __half
    static constexpr int fraction_bits = 10;
    static constexpr int bias = 15;
    static constexpr uint16_t one = 0x3c00;
    static constexpr uint16_t infinity = 0x7c00;

    // Not inlined: a kernel's functions all are, and a hundred copies of this take seconds to compile.
    __attribute__((noinline)) static float decode(uint16_t bits) {
        const uint32_t magnitude = bits & 0x7fffu;
        const uint32_t sign = uint32_t(bits & 0x8000u) << 16;
        if (magnitude > infinity) return bit_cast<float>(0x7fffffffu);
        if (magnitude == infinity) return bit_cast<float>(sign | 0x7f800000u);
        const float value = bit_cast<float>(magnitude << 13) * 0x1p112f;  // 112 = 127 - 15; exact, also of subnormals
        return bit_cast<float>(sign | bit_cast<uint32_t>(value));
    }
};

struct Bfloat16 {  // the upper half of a float: __nv_bfloat16
    static constexpr int fraction_bits = 7;
    static constexpr int bias = 127;
    static constexpr uint16_t one = 0x3f80;
    static constexpr uint16_t infinity = 0x7f80;

    static float decode(uint16_t bits) { return bit_cast<float>(uint32_t(bits) << 16); }
};

// The nearest value of the format. A float is a double, so this is the only place that rounds. Not
// inlined either.
template <class Format>
__attribute__((noinline)) uint16_t encode(double x, Rounding rounding = Rounding::nearest_even) {
    const uint64_t bits = bit_cast<uint64_t>(x);
    const bool negative = bits >> 63;
    const uint16_t sign = negative ? 0x8000 : 0;
    if (x != x) return nan_16;
    if (x == 0) return sign;
    if (isinf(x)) return sign | Format::infinity;

    // x = significand * 2^(exponent - 52). A subnormal double is below all that matters; its exponent is as good as any.
    const int exponent = int(bits >> 52 & 0x7ff) - 1023;
    const uint64_t significand = (bits & 0xfffffffffffffull) | 1ull << 52;
    constexpr int lowest = 1 - Format::bias;  // the exponent below which the format loses bits
    const int lost = 52 - Format::fraction_bits + (exponent < lowest ? lowest - exponent : 0);
    const int shift = lost < 60 ? lost : 60;  // beyond 54 all is lost, and less than half of the last place
    const uint64_t kept = significand >> shift;
    const uint64_t rest = significand & ((1ull << shift) - 1);
    const uint64_t half = 1ull << (shift - 1);
    bool away = false;
    switch (rounding) {
        case Rounding::nearest_even: away = rest > half || (rest == half && (kept & 1)); break;
        case Rounding::towards_zero: break;
        case Rounding::down: away = rest && negative; break;
        case Rounding::up: away = rest && !negative; break;
    }
    // The significand's leading 1 counts as one in the exponent, and so does a carry out of the fraction.
    const int above = exponent < lowest ? 0 : exponent - lowest;
    const int magnitude = (above << Format::fraction_bits) + int(kept) + away;
    if (magnitude < Format::infinity) return uint16_t(sign | magnitude);
    const bool to_infinity = rounding == Rounding::nearest_even || (rounding == Rounding::down && negative) ||
                             (rounding == Rounding::up && !negative);
    return uint16_t(sign | (to_infinity ? Format::infinity : Format::infinity - 1));
}

// The rest makes doubles that `encode` rounds as it would round the exact value. For + - * / and the square root the
// double's own rounding does: it has more than twice the bits of these formats, and two more, so that rounding twice is
// rounding once. (Those of a float would do for __half, too.)

// An inexact double with the last bit set can be no tie, and lies on the right side of each: "rounding to odd". Without
// it 259 + 2^-100 would be 259, which is a tie of __nv_bfloat16.
inline double fused_multiply_add(double a, double b, double c) {
    const double product = a * b;  // exact: 22 bits at most
    const double sum = product + c;
    if (!isfinite(sum)) return sum;
    const double c_part = sum - product;
    const double error = (product - (sum - c_part)) + (c - c_part);  // of the sum, exact (Knuth)
    const uint64_t bits = bit_cast<uint64_t>(sum);
    if (error == 0 || (bits & 1)) return sum;
    return bit_cast<double>((error > 0) == (sum > 0) ? bits + 1 : bits - 1);
}

// Integers of 64 bits can have more than a double holds: what does not fit is left as one bit, far below the 11 that
// matter.
template <class Integer>
inline double as_double(Integer x) {
    const bool negative = x < 0;
    const uint64_t magnitude = negative ? 0 - uint64_t(x) : uint64_t(x);
    if (magnitude >> 53 == 0) return double(x);
    const double value = double((magnitude & ~0x7ffull) | ((magnitude & 0x7ffull) ? 0x800ull : 0));
    return negative ? -value : value;
}

// To integers these formats saturate as float does, but their NaN is not 0 for 64 bits.
template <class Integer>
inline Integer to_integer(float x) {
    if (sizeof(Integer) == 8 && x != x) return Integer(1ull << 63);
    return saturate<Integer>(x);
}

// Operands and results of collectives: the bits travel in the upper half of 32 bits, since there the poison of an
// undefined read is a NaN.
inline uint64_t widen_16(uint16_t low, uint16_t high) { return uint64_t(low) << 16 | uint64_t(high) << 48; }

}  // namespace simt
