// Two numbers of a 16-bit format in one word, and what is named alike for both formats. Included once for each, after
// number.h and with the same macros.

struct alignas(4) SIMT_PAIR_RAW {
    unsigned short x;
    unsigned short y;
};

struct alignas(4) SIMT_PAIR {
    SIMT_NUMBER x;
    SIMT_NUMBER y;

    SIMT_PAIR() = default;
    constexpr SIMT_PAIR(const SIMT_NUMBER& low, const SIMT_NUMBER& high) : x(low), y(high) {}
    SIMT_PAIR(const SIMT_PAIR_RAW& raw) : x(SIMT_RAW{raw.x}), y(SIMT_RAW{raw.y}) {}
    operator SIMT_PAIR_RAW() const { return {simt::bits_of(x), simt::bits_of(y)}; }
};

namespace simt {

template <>
inline uint64_t widen(SIMT_PAIR value) {
    return widen_16(bits_of(value.x), bits_of(value.y));
}
template <>
inline SIMT_PAIR narrow<SIMT_PAIR>(uint64_t word) {
    return SIMT_PAIR_RAW{uint16_t(word >> 16), uint16_t(word >> 48)};
}

}  // namespace simt

// NAME of each of the two.
#define SIMT_OF_EACH(PAIRWISE, NAME) \
    inline SIMT_PAIR PAIRWISE(SIMT_PAIR a) { return {NAME(a.x), NAME(a.y)}; }
#define SIMT_OF_EACH_TWO(PAIRWISE, NAME) \
    inline SIMT_PAIR PAIRWISE(SIMT_PAIR a, SIMT_PAIR b) { return {NAME(a.x, b.x), NAME(a.y, b.y)}; }
#define SIMT_OF_EACH_THREE(PAIRWISE, NAME)                                \
    inline SIMT_PAIR PAIRWISE(SIMT_PAIR a, SIMT_PAIR b, SIMT_PAIR c) {    \
        return {NAME(a.x, b.x, c.x), NAME(a.y, b.y, c.y)};                \
    }
SIMT_OF_EACH_TWO(__hadd2, __hadd)
SIMT_OF_EACH_TWO(__hsub2, __hsub)
SIMT_OF_EACH_TWO(__hmul2, __hmul)
SIMT_OF_EACH_TWO(__h2div, __hdiv)
SIMT_OF_EACH_TWO(__hadd2_rn, __hadd)
SIMT_OF_EACH_TWO(__hsub2_rn, __hsub)
SIMT_OF_EACH_TWO(__hmul2_rn, __hmul)
SIMT_OF_EACH_TWO(__hadd2_sat, __hadd_sat)
SIMT_OF_EACH_TWO(__hsub2_sat, __hsub_sat)
SIMT_OF_EACH_TWO(__hmul2_sat, __hmul_sat)
SIMT_OF_EACH_TWO(__hmax2, __hmax)
SIMT_OF_EACH_TWO(__hmin2, __hmin)
SIMT_OF_EACH_TWO(__hmax2_nan, __hmax_nan)
SIMT_OF_EACH_TWO(__hmin2_nan, __hmin_nan)
SIMT_OF_EACH_THREE(__hfma2, __hfma)
SIMT_OF_EACH_THREE(__hfma2_sat, __hfma_sat)
SIMT_OF_EACH_THREE(__hfma2_relu, __hfma_relu)
SIMT_OF_EACH(__hneg2, __hneg)
SIMT_OF_EACH(__habs2, __habs)
SIMT_OF_EACH(h2sqrt, hsqrt)
SIMT_OF_EACH(h2rsqrt, hrsqrt)
SIMT_OF_EACH(h2rcp, hrcp)
SIMT_OF_EACH(h2exp, hexp)
SIMT_OF_EACH(h2exp2, hexp2)
SIMT_OF_EACH(h2exp10, hexp10)
SIMT_OF_EACH(h2log, hlog)
SIMT_OF_EACH(h2log2, hlog2)
SIMT_OF_EACH(h2log10, hlog10)
SIMT_OF_EACH(h2sin, hsin)
SIMT_OF_EACH(h2cos, hcos)
SIMT_OF_EACH(h2tanh, htanh)
SIMT_OF_EACH(h2tanh_approx, htanh_approx)
SIMT_OF_EACH(h2trunc, htrunc)
SIMT_OF_EACH(h2ceil, hceil)
SIMT_OF_EACH(h2floor, hfloor)
SIMT_OF_EACH(h2rint, hrint)
#undef SIMT_OF_EACH
#undef SIMT_OF_EACH_TWO
#undef SIMT_OF_EACH_THREE

// Each comparison in three forms: 1 or 0 of each, all bits or none of each, and whether it holds for both.
namespace simt {
inline SIMT_PAIR ones(bool low, bool high, SIMT_PAIR) {
    return SIMT_PAIR_RAW{low ? SIMT_FORMAT::one : uint16_t(0), high ? SIMT_FORMAT::one : uint16_t(0)};
}
}  // namespace simt
#define SIMT_COMPARISON(NAME)                                                                                   \
    inline SIMT_PAIR __##NAME##2(SIMT_PAIR a, SIMT_PAIR b) {                                                    \
        return simt::ones(__##NAME(a.x, b.x), __##NAME(a.y, b.y), a);                                           \
    }                                                                                                           \
    inline unsigned __##NAME##2_mask(SIMT_PAIR a, SIMT_PAIR b) {                                                \
        return (__##NAME(a.x, b.x) ? 0xffffu : 0u) | (__##NAME(a.y, b.y) ? 0xffff0000u : 0u);                   \
    }
#define SIMT_COMPARISON_OF_BOTH(PAIRWISE, NAME) \
    inline bool PAIRWISE(SIMT_PAIR a, SIMT_PAIR b) { return NAME(a.x, b.x) && NAME(a.y, b.y); }
SIMT_COMPARISON(heq)
SIMT_COMPARISON(hne)
SIMT_COMPARISON(hlt)
SIMT_COMPARISON(hle)
SIMT_COMPARISON(hgt)
SIMT_COMPARISON(hge)
SIMT_COMPARISON(hequ)
SIMT_COMPARISON(hneu)
SIMT_COMPARISON(hltu)
SIMT_COMPARISON(hleu)
SIMT_COMPARISON(hgtu)
SIMT_COMPARISON(hgeu)
SIMT_COMPARISON_OF_BOTH(__hbeq2, __heq)
SIMT_COMPARISON_OF_BOTH(__hbne2, __hne)
SIMT_COMPARISON_OF_BOTH(__hblt2, __hlt)
SIMT_COMPARISON_OF_BOTH(__hble2, __hle)
SIMT_COMPARISON_OF_BOTH(__hbgt2, __hgt)
SIMT_COMPARISON_OF_BOTH(__hbge2, __hge)
SIMT_COMPARISON_OF_BOTH(__hbequ2, __hequ)
SIMT_COMPARISON_OF_BOTH(__hbneu2, __hneu)
SIMT_COMPARISON_OF_BOTH(__hbltu2, __hltu)
SIMT_COMPARISON_OF_BOTH(__hbleu2, __hleu)
SIMT_COMPARISON_OF_BOTH(__hbgtu2, __hgtu)
SIMT_COMPARISON_OF_BOTH(__hbgeu2, __hgeu)
#undef SIMT_COMPARISON
#undef SIMT_COMPARISON_OF_BOTH
inline SIMT_PAIR __hisnan2(SIMT_PAIR a) { return simt::ones(__hisnan(a.x), __hisnan(a.y), a); }

// a * b + c, of complex numbers; rounded where CUDA rounds.
inline SIMT_PAIR __hcmadd(SIMT_PAIR a, SIMT_PAIR b, SIMT_PAIR c) {
    return {__hfma(__hneg(a.y), b.y, __hfma(a.x, b.x, c.x)), __hfma(a.y, b.x, __hfma(a.x, b.y, c.y))};
}

inline float __low2float(SIMT_PAIR a) { return a.x; }
inline float __high2float(SIMT_PAIR a) { return a.y; }
inline SIMT_PAIR __lowhigh2highlow(SIMT_PAIR a) { return {a.y, a.x}; }

inline SIMT_PAIR operator+(const SIMT_PAIR& a, const SIMT_PAIR& b) { return __hadd2(a, b); }
inline SIMT_PAIR operator-(const SIMT_PAIR& a, const SIMT_PAIR& b) { return __hsub2(a, b); }
inline SIMT_PAIR operator*(const SIMT_PAIR& a, const SIMT_PAIR& b) { return __hmul2(a, b); }
inline SIMT_PAIR operator/(const SIMT_PAIR& a, const SIMT_PAIR& b) { return __h2div(a, b); }
inline SIMT_PAIR& operator+=(SIMT_PAIR& a, const SIMT_PAIR& b) { return a = __hadd2(a, b); }
inline SIMT_PAIR& operator-=(SIMT_PAIR& a, const SIMT_PAIR& b) { return a = __hsub2(a, b); }
inline SIMT_PAIR& operator*=(SIMT_PAIR& a, const SIMT_PAIR& b) { return a = __hmul2(a, b); }
inline SIMT_PAIR& operator/=(SIMT_PAIR& a, const SIMT_PAIR& b) { return a = __h2div(a, b); }
inline SIMT_PAIR& operator++(SIMT_PAIR& a) { ++a.x; ++a.y; return a; }
inline SIMT_PAIR& operator--(SIMT_PAIR& a) { --a.x; --a.y; return a; }
inline SIMT_PAIR operator++(SIMT_PAIR& a, int) { const SIMT_PAIR before = a; ++a; return before; }
inline SIMT_PAIR operator--(SIMT_PAIR& a, int) { const SIMT_PAIR before = a; --a; return before; }
inline SIMT_PAIR operator+(const SIMT_PAIR& a) { return a; }
inline SIMT_PAIR operator-(const SIMT_PAIR& a) { return __hneg2(a); }

// All of these hold for both or not at all, `!=` too.
inline bool operator==(const SIMT_PAIR& a, const SIMT_PAIR& b) { return __hbeq2(a, b); }
inline bool operator!=(const SIMT_PAIR& a, const SIMT_PAIR& b) { return __hbneu2(a, b); }
inline bool operator<(const SIMT_PAIR& a, const SIMT_PAIR& b) { return __hblt2(a, b); }
inline bool operator>(const SIMT_PAIR& a, const SIMT_PAIR& b) { return __hbgt2(a, b); }
inline bool operator<=(const SIMT_PAIR& a, const SIMT_PAIR& b) { return __hble2(a, b); }
inline bool operator>=(const SIMT_PAIR& a, const SIMT_PAIR& b) { return __hbge2(a, b); }

inline SIMT_PAIR atomicAdd(SIMT_PAIR* address, SIMT_PAIR value) { return simt::add(address, value); }
