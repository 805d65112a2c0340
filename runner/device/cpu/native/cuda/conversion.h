// Conversions. Those from floating point to integers saturate and make 0 of NaN, as on the GPU.
#pragma once

inline int __float_as_int(float x) { return simt::bit_cast<int>(x); }
inline unsigned __float_as_uint(float x) { return simt::bit_cast<unsigned>(x); }
inline float __int_as_float(int x) { return simt::bit_cast<float>(x); }
inline float __uint_as_float(unsigned x) { return simt::bit_cast<float>(x); }
inline long long __double_as_longlong(double x) { return simt::bit_cast<long long>(x); }
inline double __longlong_as_double(long long x) { return simt::bit_cast<double>(x); }
inline int __double2hiint(double x) { return int(simt::bit_cast<uint64_t>(x) >> 32); }
inline int __double2loint(double x) { return int(simt::bit_cast<uint64_t>(x)); }
inline double __hiloint2double(int high, int low) {
    return simt::bit_cast<double>(uint64_t(unsigned(high)) << 32 | unsigned(low));
}

namespace simt {

template <class Integer, class Float>
inline Integer saturate(Float x) {
    constexpr bool is_signed = std::is_signed<Integer>::value;
    constexpr int value_bits = int(sizeof(Integer) * 8) - (is_signed ? 1 : 0);
    using Unsigned = typename std::make_unsigned<Integer>::type;
    const Integer highest = Integer(Unsigned(~Unsigned(0)) >> (is_signed ? 1 : 0));
    const Integer lowest = is_signed ? Integer(-highest - 1) : Integer(0);
    const Float beyond = Float(ldexp(1.0, value_bits));  // the smallest power of two that does not fit
    if (x != x) return 0;
    if (x >= beyond) return highest;
    if (x < (is_signed ? -beyond : Float(0))) return lowest;
    return Integer(x);
}

}  // namespace simt

// rn: to nearest even, rz: towards zero, rd: down, ru: up.
#define SIMT_CONVERSIONS(FROM, TO, INTEGER, FLOAT)                                                          \
    inline INTEGER __##FROM##2##TO##_rn(FLOAT x) { return simt::saturate<INTEGER>(nearbyint(x)); }          \
    inline INTEGER __##FROM##2##TO##_rz(FLOAT x) { return simt::saturate<INTEGER>(trunc(x)); }              \
    inline INTEGER __##FROM##2##TO##_rd(FLOAT x) { return simt::saturate<INTEGER>(floor(x)); }              \
    inline INTEGER __##FROM##2##TO##_ru(FLOAT x) { return simt::saturate<INTEGER>(ceil(x)); }
SIMT_CONVERSIONS(float, int, int, float)
SIMT_CONVERSIONS(float, uint, unsigned, float)
SIMT_CONVERSIONS(float, ll, long long, float)
SIMT_CONVERSIONS(float, ull, unsigned long long, float)
SIMT_CONVERSIONS(double, int, int, double)
SIMT_CONVERSIONS(double, uint, unsigned, double)
SIMT_CONVERSIONS(double, ll, long long, double)
SIMT_CONVERSIONS(double, ull, unsigned long long, double)
#undef SIMT_CONVERSIONS
