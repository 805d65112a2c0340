// Reading a value's bits as another type.
#pragma once

// A function of which nothing is compiled before a kernel calls it: hundreds of plain ones would cost every kernel time.
#define SIMT_IF_USED template <int = 0> inline

namespace simt {

template <class To, class From>
inline To bit_cast(const From& from) {
    static_assert(sizeof(To) == sizeof(From), "both types must have the same size");
    To to;
    memcpy(&to, &from, sizeof to);
    return to;
}

// Operands and results of collectives travel as 64 bits.
template <class T>
inline uint64_t widen(T value) {
    uint64_t word = 0;
    memcpy(&word, &value, sizeof value);
    return word;
}

template <class T>
inline T narrow(uint64_t word) {
    T value;
    memcpy(&value, &word, sizeof value);
    return value;
}

template <class T>
struct Identity {
    using type = T;
};

// A parameter of this type is converted to T and takes no part in deducing it, as with CUDA's plain overloads.
template <class T>
using NotDeduced = typename Identity<T>::type;

template <class T, class... Allowed>
constexpr bool is_one_of = (std::is_same<T, Allowed>::value || ...);

}  // namespace simt
