// Special functions that <math.h> lacks. Those of double are computed in the host's longest type, those of float in
// double, and rounded once: nearer to the true value than a GPU's.
#pragma once

namespace simt {

using Longest = long double;

constexpr Longest pi = 3.14159265358979323846264338327950288L;
constexpr Longest two_over_root_pi = 1.12837916709551257389615890312154517L;
constexpr Longest root_half = 0.707106781186547524400844362104849039L;

inline Longest infinity_of(Longest sign) { return copysignl(Longest(INFINITY), sign); }

// erfc(y) = p by Halley's method. The start (Winitzki) is good to a few thousandths, and each step cubes the error.
__attribute__((noinline)) inline Longest inverse_erfc(Longest p) {
    if (!(p >= 0 && p <= 2)) return NAN;
    if (p == 0 || p == 2) return infinity_of(1 - p);
    const Longest log_of = logl(p * (2 - p)), half = two_over_root_pi * two_over_root_pi * 1.7L + log_of / 2;
    Longest y = copysignl(sqrtl(sqrtl(half * half - log_of / 0.147L) - half), 1 - p);
    for (int step = 0; step < 12; ++step) {
        const Longest change = (erfcl(y) - p) / (two_over_root_pi * expl(-y * y));
        const Longest next = y + change / (1 - y * change);
        if (fabsl(next - y) <= fabsl(next) * 1e-18L) return next;
        y = next;
    }
    return y;
}

__attribute__((noinline)) inline Longest inverse_erf(Longest x) {
    if (fabsl(x) >= 0.5L || x != x) return x < 0 ? -inverse_erfc(1 + x) : inverse_erfc(1 - x);
    Longest y = x / two_over_root_pi;
    for (int step = 0; step < 6; ++step) {
        const Longest change = (erfl(y) - x) / (two_over_root_pi * expl(-y * y));
        y -= change / (1 + y * change);
    }
    return y;
}

// exp(x * x) * erfc(x). From 20 on its asymptotic series is exact to the last bit long before it begins to grow.
__attribute__((noinline)) inline Longest scaled_erfc(Longest x) {
    if (!(x > 20)) return expl(x * x) * erfcl(x);
    Longest term = 1, sum = 1;
    for (int k = 1; k < 12; ++k) sum += term *= -(2 * k - 1) / (2 * x * x);
    return sum * two_over_root_pi / 2 / x;
}

// The modified Bessel function of that order; all terms of its series have one sign.
__attribute__((noinline)) inline Longest bessel_i(int order, Longest x) {
    if (!(fabsl(x) < 1000)) return x != x ? x : infinity_of(order ? x : 1);
    Longest term = order ? x / 2 : 1, sum = term;
    for (int k = 1; fabsl(term) > fabsl(sum) * 1e-21L; ++k) sum += term *= x * x / (Longest(4) * k * (k + order));
    return sum;
}

// sin and cos of pi * x, exact where they are 0 or 1: what is left of x after whole turns is exact, too.
template <class Wide>
inline Wide sine_of_turns(Wide x) {
    Wide left = fmod(x, Wide(2));
    if (fabs(left) > 1) left -= copysign(Wide(2), left);
    if (fabs(left) > Wide(0.5)) left = copysign(Wide(1), left) - left;
    return left == 0 ? copysign(Wide(0), x) : sin(left * Wide(pi));
}
template <class Wide>
inline Wide cosine_of_turns(Wide x) {
    Wide left = fabs(fmod(x, Wide(2)));
    if (left > 1) left = 2 - left;
    return left < Wide(0.25) ? cos(left * Wide(pi)) : sin((Wide(0.5) - left) * Wide(pi));
}

// The square root of a sum of squares; infinite if a coordinate is, even if another one is NaN.
template <class Wide, class T>
inline Wide length(const T* coordinates, int count) {
    Wide sum = 0;
    bool infinite = false;
    for (int i = 0; i < count; ++i) {
        infinite |= isinf(coordinates[i]) != 0;
        sum += Wide(coordinates[i]) * coordinates[i];
    }
    return infinite ? Wide(INFINITY) : sqrt(sum);
}
template <class Wide, class T, size_t count>
inline Wide length(const T (&coordinates)[count]) {
    return length<Wide>(coordinates, int(count));
}

}  // namespace simt

#define SIMT_SPECIAL(NAME, ...)                                                      \
    SIMT_IF_USED double NAME(double a) { const simt::Longest x = a; return double(__VA_ARGS__); } \
    SIMT_IF_USED float NAME##f(float a) { const double x = a; return float(__VA_ARGS__); }
SIMT_SPECIAL(erfcinv, simt::inverse_erfc(x))
SIMT_SPECIAL(erfinv, simt::inverse_erf(x))
SIMT_SPECIAL(erfcx, simt::scaled_erfc(x))
SIMT_SPECIAL(normcdf, erfc(-x * decltype(+x)(simt::root_half)) / 2)
SIMT_SPECIAL(normcdfinv, simt::inverse_erfc(2 * x) / -simt::root_half)
SIMT_SPECIAL(cyl_bessel_i0, simt::bessel_i(0, x))
SIMT_SPECIAL(cyl_bessel_i1, simt::bessel_i(1, x))
SIMT_SPECIAL(sinpi, simt::sine_of_turns(x))
SIMT_SPECIAL(cospi, simt::cosine_of_turns(x))
#undef SIMT_SPECIAL

#define SIMT_LENGTHS(T, WIDE, SUFFIX)                                                                            \
    SIMT_IF_USED T rhypot##SUFFIX(T a, T b) { return T(1 / simt::length<WIDE>({a, b})); }                        \
    SIMT_IF_USED T norm3d##SUFFIX(T a, T b, T c) { return T(simt::length<WIDE>({a, b, c})); }                    \
    SIMT_IF_USED T rnorm3d##SUFFIX(T a, T b, T c) { return T(1 / simt::length<WIDE>({a, b, c})); }               \
    SIMT_IF_USED T norm4d##SUFFIX(T a, T b, T c, T d) { return T(simt::length<WIDE>({a, b, c, d})); }            \
    SIMT_IF_USED T rnorm4d##SUFFIX(T a, T b, T c, T d) { return T(1 / simt::length<WIDE>({a, b, c, d})); }       \
    SIMT_IF_USED T norm##SUFFIX(int count, const T* a) { return T(simt::length<WIDE>(a, count)); }               \
    SIMT_IF_USED T rnorm##SUFFIX(int count, const T* a) { return T(1 / simt::length<WIDE>(a, count)); }          \
    SIMT_IF_USED void sincospi##SUFFIX(T x, T* sine, T* cosine) { *sine = sinpi##SUFFIX(x), *cosine = cospi##SUFFIX(x); }
SIMT_LENGTHS(double, simt::Longest, )
SIMT_LENGTHS(float, double, f)
#undef SIMT_LENGTHS
