// Functors of libcu++: cuda::std::plus<> and the like, cuda::minimum and cuda::maximum.
#pragma once

namespace cuda {
namespace std {

// Without a type: of any two, as the operator has it.
#define SIMT_FUNCTOR(NAME, ...)                                                                       \
    template <class T = void>                                                                         \
    struct NAME {                                                                                     \
        constexpr auto operator()(const T& a, const T& b) const { return __VA_ARGS__; }               \
    };                                                                                                \
    template <>                                                                                       \
    struct NAME<void> {                                                                               \
        template <class A, class B>                                                                   \
        constexpr auto operator()(const A& a, const B& b) const { return __VA_ARGS__; }               \
    };
SIMT_FUNCTOR(plus, a + b)
SIMT_FUNCTOR(minus, a - b)
SIMT_FUNCTOR(multiplies, a * b)
SIMT_FUNCTOR(divides, a / b)
SIMT_FUNCTOR(modulus, a % b)
SIMT_FUNCTOR(bit_and, a & b)
SIMT_FUNCTOR(bit_or, a | b)
SIMT_FUNCTOR(bit_xor, a ^ b)
SIMT_FUNCTOR(logical_and, a && b)
SIMT_FUNCTOR(logical_or, a || b)
SIMT_FUNCTOR(equal_to, a == b)
SIMT_FUNCTOR(not_equal_to, a != b)
SIMT_FUNCTOR(less, a < b)
SIMT_FUNCTOR(less_equal, a <= b)
SIMT_FUNCTOR(greater, a > b)
SIMT_FUNCTOR(greater_equal, a >= b)

}  // namespace std

SIMT_FUNCTOR(maximum, a < b ? b : a)
SIMT_FUNCTOR(minimum, b < a ? b : a)
#undef SIMT_FUNCTOR

}  // namespace cuda
