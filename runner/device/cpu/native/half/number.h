// One number of a 16-bit format, and what is named alike for both formats. Included once for each, with
//
//   SIMT_NUMBER, SIMT_RAW            the type, and its bits as a plain structure
//   SIMT_PAIR, SIMT_PAIR_RAW         two of them
//   SIMT_OTHER_NUMBER                the other format's type
//   SIMT_FORMAT                      of format.h
//
// Constructors and conversions are those of CUDA's class, no more and no less: what is ambiguous there (`h + 1`) is
// ambiguous here.

struct alignas(2) SIMT_RAW {
    unsigned short x;
};

struct alignas(2) SIMT_NUMBER {
    SIMT_NUMBER() = default;
    constexpr SIMT_NUMBER(const SIMT_RAW& raw) : bits_(raw.x) {}
    explicit SIMT_NUMBER(SIMT_OTHER_NUMBER x);
    SIMT_NUMBER(float x) : bits_(simt::encode<SIMT_FORMAT>(x)) {}
    SIMT_NUMBER(double x) : bits_(simt::encode<SIMT_FORMAT>(x)) {}
    SIMT_NUMBER(short x) : bits_(simt::encode<SIMT_FORMAT>(x)) {}
    SIMT_NUMBER(unsigned short x) : bits_(simt::encode<SIMT_FORMAT>(x)) {}
    SIMT_NUMBER(int x) : bits_(simt::encode<SIMT_FORMAT>(x)) {}
    SIMT_NUMBER(unsigned x) : bits_(simt::encode<SIMT_FORMAT>(x)) {}
    SIMT_NUMBER(long x) : bits_(simt::encode<SIMT_FORMAT>(simt::as_double(x))) {}
    SIMT_NUMBER(unsigned long x) : bits_(simt::encode<SIMT_FORMAT>(simt::as_double(x))) {}
    SIMT_NUMBER(long long x) : bits_(simt::encode<SIMT_FORMAT>(simt::as_double(x))) {}
    SIMT_NUMBER(unsigned long long x) : bits_(simt::encode<SIMT_FORMAT>(simt::as_double(x))) {}

    SIMT_NUMBER& operator=(const SIMT_RAW& raw) { bits_ = raw.x; return *this; }
    void operator=(const SIMT_RAW& raw) volatile { bits_ = raw.x; }
    SIMT_NUMBER& operator=(float x) { return *this = SIMT_NUMBER(x); }
    SIMT_NUMBER& operator=(double x) { return *this = SIMT_NUMBER(x); }
    SIMT_NUMBER& operator=(short x) { return *this = SIMT_NUMBER(x); }
    SIMT_NUMBER& operator=(unsigned short x) { return *this = SIMT_NUMBER(x); }
    SIMT_NUMBER& operator=(int x) { return *this = SIMT_NUMBER(x); }
    SIMT_NUMBER& operator=(unsigned x) { return *this = SIMT_NUMBER(x); }
    SIMT_NUMBER& operator=(long long x) { return *this = SIMT_NUMBER(x); }
    SIMT_NUMBER& operator=(unsigned long long x) { return *this = SIMT_NUMBER(x); }

    operator SIMT_RAW() const { return {bits_}; }
    operator SIMT_RAW() const volatile { return {bits_}; }
    operator float() const { return SIMT_FORMAT::decode(bits_); }
    operator signed char() const { return simt::to_integer<signed char>(*this); }
    operator unsigned char() const { return simt::to_integer<unsigned char>(*this); }
    operator char() const { return simt::to_integer<char>(*this); }
    operator short() const { return simt::to_integer<short>(*this); }
    operator unsigned short() const { return simt::to_integer<unsigned short>(*this); }
    operator int() const { return simt::to_integer<int>(*this); }
    operator unsigned() const { return simt::to_integer<unsigned>(*this); }
    operator long() const { return simt::to_integer<long>(*this); }
    operator unsigned long() const { return simt::to_integer<unsigned long>(*this); }
    operator long long() const { return simt::to_integer<long long>(*this); }
    operator unsigned long long() const { return simt::to_integer<unsigned long long>(*this); }
    constexpr operator bool() const { return (bits_ & 0x7fff) != 0; }

    unsigned short bits_;
};

namespace simt {

inline uint16_t bits_of(SIMT_NUMBER a) { return static_cast<SIMT_RAW>(a).x; }
inline double value_of(SIMT_NUMBER a) { return SIMT_FORMAT::decode(bits_of(a)); }

template <>
inline uint64_t widen(SIMT_NUMBER value) {
    return widen_16(bits_of(value), 0);
}
template <>
inline SIMT_NUMBER narrow<SIMT_NUMBER>(uint64_t word) {
    return SIMT_RAW{uint16_t(word >> 16)};
}

}  // namespace simt

inline SIMT_NUMBER __hadd(SIMT_NUMBER a, SIMT_NUMBER b) { return simt::value_of(a) + simt::value_of(b); }
inline SIMT_NUMBER __hsub(SIMT_NUMBER a, SIMT_NUMBER b) { return simt::value_of(a) - simt::value_of(b); }
inline SIMT_NUMBER __hmul(SIMT_NUMBER a, SIMT_NUMBER b) { return simt::value_of(a) * simt::value_of(b); }
inline SIMT_NUMBER __hdiv(SIMT_NUMBER a, SIMT_NUMBER b) { return simt::value_of(a) / simt::value_of(b); }
inline SIMT_NUMBER __hadd_rn(SIMT_NUMBER a, SIMT_NUMBER b) { return __hadd(a, b); }
inline SIMT_NUMBER __hsub_rn(SIMT_NUMBER a, SIMT_NUMBER b) { return __hsub(a, b); }
inline SIMT_NUMBER __hmul_rn(SIMT_NUMBER a, SIMT_NUMBER b) { return __hmul(a, b); }
inline SIMT_NUMBER __hfma(SIMT_NUMBER a, SIMT_NUMBER b, SIMT_NUMBER c) {
    return simt::fused_multiply_add(simt::value_of(a), simt::value_of(b), simt::value_of(c));
}
inline SIMT_NUMBER __hneg(SIMT_NUMBER a) { return SIMT_RAW{uint16_t(simt::bits_of(a) ^ 0x8000)}; }
inline SIMT_NUMBER __habs(SIMT_NUMBER a) { return SIMT_RAW{uint16_t(simt::bits_of(a) & 0x7fff)}; }

inline bool __hisnan(SIMT_NUMBER a) { return (simt::bits_of(a) & 0x7fff) > SIMT_FORMAT::infinity; }
inline int __hisinf(SIMT_NUMBER a) {
    return (simt::bits_of(a) & 0x7fff) != SIMT_FORMAT::infinity ? 0 : simt::bits_of(a) >> 15 ? -1 : 1;
}

// Ordered: false if one is no number. Unordered, with a u at the end: true then.
inline bool __heq(SIMT_NUMBER a, SIMT_NUMBER b) { return simt::value_of(a) == simt::value_of(b); }
inline bool __hlt(SIMT_NUMBER a, SIMT_NUMBER b) { return simt::value_of(a) < simt::value_of(b); }
inline bool __hle(SIMT_NUMBER a, SIMT_NUMBER b) { return simt::value_of(a) <= simt::value_of(b); }
inline bool __hgt(SIMT_NUMBER a, SIMT_NUMBER b) { return __hlt(b, a); }
inline bool __hge(SIMT_NUMBER a, SIMT_NUMBER b) { return __hle(b, a); }
inline bool __hne(SIMT_NUMBER a, SIMT_NUMBER b) { return __hlt(a, b) || __hlt(b, a); }
inline bool __hequ(SIMT_NUMBER a, SIMT_NUMBER b) { return !__hne(a, b); }
inline bool __hneu(SIMT_NUMBER a, SIMT_NUMBER b) { return !__heq(a, b); }
inline bool __hltu(SIMT_NUMBER a, SIMT_NUMBER b) { return !__hge(a, b); }
inline bool __hleu(SIMT_NUMBER a, SIMT_NUMBER b) { return !__hgt(a, b); }
inline bool __hgtu(SIMT_NUMBER a, SIMT_NUMBER b) { return !__hle(a, b); }
inline bool __hgeu(SIMT_NUMBER a, SIMT_NUMBER b) { return !__hlt(a, b); }

// Of a number and a NaN, `_nan` gives the NaN, the others the number. Equal values differ in the sign of 0 at most.
inline SIMT_NUMBER __hmax_nan(SIMT_NUMBER a, SIMT_NUMBER b) {
    if (__hisnan(a) || __hisnan(b)) return SIMT_RAW{simt::nan_16};
    if (__hgt(a, b)) return a;
    return __hgt(b, a) ? b : SIMT_NUMBER(SIMT_RAW{uint16_t(simt::bits_of(a) & simt::bits_of(b))});
}
inline SIMT_NUMBER __hmin_nan(SIMT_NUMBER a, SIMT_NUMBER b) {
    if (__hisnan(a) || __hisnan(b)) return SIMT_RAW{simt::nan_16};
    if (__hlt(a, b)) return a;
    return __hlt(b, a) ? b : SIMT_NUMBER(SIMT_RAW{uint16_t(simt::bits_of(a) | simt::bits_of(b))});
}
inline SIMT_NUMBER __hmax(SIMT_NUMBER a, SIMT_NUMBER b) {
    return __hisnan(a) == __hisnan(b) ? __hmax_nan(a, b) : __hisnan(a) ? b : a;
}
inline SIMT_NUMBER __hmin(SIMT_NUMBER a, SIMT_NUMBER b) {
    return __hisnan(a) == __hisnan(b) ? __hmin_nan(a, b) : __hisnan(a) ? b : a;
}

namespace simt {
inline SIMT_NUMBER zero_to_one(SIMT_NUMBER a) {  // NaN gives 0
    return __hgt(a, SIMT_RAW{0}) ? __hmin(a, SIMT_RAW{SIMT_FORMAT::one}) : SIMT_NUMBER(SIMT_RAW{0});
}
}  // namespace simt
inline SIMT_NUMBER __hadd_sat(SIMT_NUMBER a, SIMT_NUMBER b) { return simt::zero_to_one(__hadd(a, b)); }
inline SIMT_NUMBER __hsub_sat(SIMT_NUMBER a, SIMT_NUMBER b) { return simt::zero_to_one(__hsub(a, b)); }
inline SIMT_NUMBER __hmul_sat(SIMT_NUMBER a, SIMT_NUMBER b) { return simt::zero_to_one(__hmul(a, b)); }
inline SIMT_NUMBER __hfma_sat(SIMT_NUMBER a, SIMT_NUMBER b, SIMT_NUMBER c) {
    return simt::zero_to_one(__hfma(a, b, c));
}
inline SIMT_NUMBER __hfma_relu(SIMT_NUMBER a, SIMT_NUMBER b, SIMT_NUMBER c) {
    return __hmax_nan(__hfma(a, b, c), SIMT_RAW{0});
}

inline SIMT_NUMBER operator+(const SIMT_NUMBER& a, const SIMT_NUMBER& b) { return __hadd(a, b); }
inline SIMT_NUMBER operator-(const SIMT_NUMBER& a, const SIMT_NUMBER& b) { return __hsub(a, b); }
inline SIMT_NUMBER operator*(const SIMT_NUMBER& a, const SIMT_NUMBER& b) { return __hmul(a, b); }
inline SIMT_NUMBER operator/(const SIMT_NUMBER& a, const SIMT_NUMBER& b) { return __hdiv(a, b); }
inline SIMT_NUMBER& operator+=(SIMT_NUMBER& a, const SIMT_NUMBER& b) { return a = __hadd(a, b); }
inline SIMT_NUMBER& operator-=(SIMT_NUMBER& a, const SIMT_NUMBER& b) { return a = __hsub(a, b); }
inline SIMT_NUMBER& operator*=(SIMT_NUMBER& a, const SIMT_NUMBER& b) { return a = __hmul(a, b); }
inline SIMT_NUMBER& operator/=(SIMT_NUMBER& a, const SIMT_NUMBER& b) { return a = __hdiv(a, b); }
inline SIMT_NUMBER& operator++(SIMT_NUMBER& a) { return a += SIMT_RAW{SIMT_FORMAT::one}; }
inline SIMT_NUMBER& operator--(SIMT_NUMBER& a) { return a -= SIMT_RAW{SIMT_FORMAT::one}; }
inline SIMT_NUMBER operator++(SIMT_NUMBER& a, int) { const SIMT_NUMBER before = a; ++a; return before; }
inline SIMT_NUMBER operator--(SIMT_NUMBER& a, int) { const SIMT_NUMBER before = a; --a; return before; }
inline SIMT_NUMBER operator+(const SIMT_NUMBER& a) { return a; }
inline SIMT_NUMBER operator-(const SIMT_NUMBER& a) { return __hneg(a); }
inline bool operator==(const SIMT_NUMBER& a, const SIMT_NUMBER& b) { return __heq(a, b); }
inline bool operator!=(const SIMT_NUMBER& a, const SIMT_NUMBER& b) { return __hneu(a, b); }
inline bool operator<(const SIMT_NUMBER& a, const SIMT_NUMBER& b) { return __hlt(a, b); }
inline bool operator>(const SIMT_NUMBER& a, const SIMT_NUMBER& b) { return __hgt(a, b); }
inline bool operator<=(const SIMT_NUMBER& a, const SIMT_NUMBER& b) { return __hle(a, b); }
inline bool operator>=(const SIMT_NUMBER& a, const SIMT_NUMBER& b) { return __hge(a, b); }

// The host's functions of doubles, rounded: nearer to the true value than a GPU's.
inline SIMT_NUMBER hsqrt(SIMT_NUMBER a) { return sqrt(simt::value_of(a)); }
inline SIMT_NUMBER hrsqrt(SIMT_NUMBER a) { return 1.0 / sqrt(simt::value_of(a)); }
inline SIMT_NUMBER hrcp(SIMT_NUMBER a) { return 1.0 / simt::value_of(a); }
inline SIMT_NUMBER hexp(SIMT_NUMBER a) { return exp(simt::value_of(a)); }
inline SIMT_NUMBER hexp2(SIMT_NUMBER a) { return exp2(simt::value_of(a)); }
inline SIMT_NUMBER hexp10(SIMT_NUMBER a) { return pow(10.0, simt::value_of(a)); }
inline SIMT_NUMBER hlog(SIMT_NUMBER a) { return log(simt::value_of(a)); }
inline SIMT_NUMBER hlog2(SIMT_NUMBER a) { return log2(simt::value_of(a)); }
inline SIMT_NUMBER hlog10(SIMT_NUMBER a) { return log10(simt::value_of(a)); }
inline SIMT_NUMBER hsin(SIMT_NUMBER a) { return sin(simt::value_of(a)); }
inline SIMT_NUMBER hcos(SIMT_NUMBER a) { return cos(simt::value_of(a)); }
inline SIMT_NUMBER htanh(SIMT_NUMBER a) { return tanh(simt::value_of(a)); }
inline SIMT_NUMBER htanh_approx(SIMT_NUMBER a) { return htanh(a); }
inline SIMT_NUMBER htrunc(SIMT_NUMBER a) { return trunc(simt::value_of(a)); }
inline SIMT_NUMBER hceil(SIMT_NUMBER a) { return ceil(simt::value_of(a)); }
inline SIMT_NUMBER hfloor(SIMT_NUMBER a) { return floor(simt::value_of(a)); }
inline SIMT_NUMBER hrint(SIMT_NUMBER a) { return nearbyint(simt::value_of(a)); }

inline SIMT_NUMBER atomicAdd(SIMT_NUMBER* address, SIMT_NUMBER value) { return simt::add(address, value); }
