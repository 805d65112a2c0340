// cuda::std: the host's own namespace std, in which the same functions and types are. What C++17 lacks follows.
#pragma once

#include "host_begin.h"
#include <array>
#include <limits>
#include <tuple>
#include <type_traits>
#include <utility>
#include "host_end.h"

#include "functional.h"

namespace cuda {
namespace std {

using namespace ::std;

template <class Value>
constexpr const Value& clamp(const Value& value, const Value& low, const Value& high) {
    return value < low ? low : high < value ? high : value;
}
template <class To, class From>
inline To bit_cast(const From& from) { return simt::bit_cast<To>(from); }

#define SIMT_OF_UNSIGNED(RESULT, NAME, EXPRESSION)                                                  \
    template <class Number>                                                                        \
    constexpr RESULT NAME(Number x) {                                                              \
        static_assert(::std::is_unsigned<Number>::value, #NAME " takes an unsigned integer");     \
        constexpr int bits = int(sizeof(Number)) * 8;                                              \
        (void)bits;                                                                                \
        return EXPRESSION;                                                                         \
    }
SIMT_OF_UNSIGNED(int, popcount, __builtin_popcountll(x))
SIMT_OF_UNSIGNED(int, countl_zero, x ? __builtin_clzll(x) - (64 - bits) : bits)
SIMT_OF_UNSIGNED(int, countr_zero, x ? __builtin_ctzll(x) : bits)
SIMT_OF_UNSIGNED(int, bit_width, bits - countl_zero(x))
SIMT_OF_UNSIGNED(bool, has_single_bit, x && !(x & (x - 1)))
SIMT_OF_UNSIGNED(Number, bit_floor, x ? Number(Number(1) << (bit_width(x) - 1)) : Number(0))
SIMT_OF_UNSIGNED(Number, bit_ceil, x <= 1 ? Number(1) : Number(Number(1) << bit_width(Number(x - 1))))
#undef SIMT_OF_UNSIGNED

template <class Number>
constexpr Number rotl(Number x, int by) {
    constexpr int bits = int(sizeof(Number)) * 8;
    const int left = ((by % bits) + bits) % bits;
    return left ? Number(x << left | x >> (bits - left)) : x;
}
template <class Number>
constexpr Number rotr(Number x, int by) { return rotl(x, -by); }

namespace numbers {
#define SIMT_NUMBER(NAME, VALUE)                  \
    template <class Real>                         \
    inline constexpr Real NAME##_v = Real(VALUE); \
    inline constexpr double NAME = VALUE;
SIMT_NUMBER(e, 2.718281828459045235360287471352662498)
SIMT_NUMBER(log2e, 1.442695040888963407359924681001892137)
SIMT_NUMBER(log10e, 0.434294481903251827651128918916605082)
SIMT_NUMBER(pi, 3.141592653589793238462643383279502884)
SIMT_NUMBER(inv_pi, 0.318309886183790671537767526745028724)
SIMT_NUMBER(inv_sqrtpi, 0.564189583547756286948079451560772586)
SIMT_NUMBER(ln2, 0.693147180559945309417232121458176568)
SIMT_NUMBER(ln10, 2.302585092994045684017991454684364208)
SIMT_NUMBER(sqrt2, 1.414213562373095048801688724209698079)
SIMT_NUMBER(sqrt3, 1.732050807568877293527446341505872367)
SIMT_NUMBER(inv_sqrt3, 0.577350269189625764509148780501957456)
SIMT_NUMBER(egamma, 0.577215664901532860606512090082402431)
SIMT_NUMBER(phi, 1.618033988749894848204586834365638118)
#undef SIMT_NUMBER
}  // namespace numbers

// A span of a length that is known at run time.
template <class Element>
class span {
public:
    using value_type = ::std::remove_cv_t<Element>;

    constexpr span() = default;
    constexpr span(Element* begin, size_t count) : begin_(begin), count_(count) {}
    constexpr span(Element* begin, Element* end) : begin_(begin), count_(size_t(end - begin)) {}
    template <size_t count>
    constexpr span(Element (&all)[count]) : begin_(all), count_(count) {}
    template <size_t count>
    constexpr span(::std::array<value_type, count>& all) : begin_(all.data()), count_(count) {}
    template <class Other, class = ::std::enable_if_t<::std::is_convertible<Other (*)[], Element (*)[]>::value>>
    constexpr span(const span<Other>& other) : begin_(other.data()), count_(other.size()) {}

    constexpr Element* data() const { return begin_; }
    constexpr Element* begin() const { return begin_; }
    constexpr Element* end() const { return begin_ + count_; }
    constexpr size_t size() const { return count_; }
    constexpr size_t size_bytes() const { return count_ * sizeof(Element); }
    constexpr bool empty() const { return count_ == 0; }
    constexpr Element& operator[](size_t i) const { return begin_[i]; }
    constexpr Element& front() const { return begin_[0]; }
    constexpr Element& back() const { return begin_[count_ - 1]; }
    constexpr span first(size_t count) const { return span(begin_, count); }
    constexpr span last(size_t count) const { return span(begin_ + (count_ - count), count); }
    constexpr span subspan(size_t from, size_t count = size_t(-1)) const {
        return span(begin_ + from, count == size_t(-1) ? count_ - from : count);
    }

private:
    Element* begin_ = nullptr;
    size_t count_ = 0;
};

}  // namespace std

// Of <cuda/cmath>.
template <class Left, class Right>
constexpr auto ceil_div(Left a, Right b) { return a / b + (a % b != 0); }
template <class Left, class Right>
constexpr auto round_up(Left a, Right b) { return ceil_div(a, b) * b; }
template <class Left, class Right>
constexpr auto round_down(Left a, Right b) { return a / b * b; }

}  // namespace cuda
