// Atomic functions. They are real atomics, since blocks run on several OS threads at once.
#pragma once

namespace simt {

template <size_t bytes>
struct WordOf;
template <>
struct WordOf<2> { using type = uint16_t; };
template <>
struct WordOf<4> { using type = uint32_t; };
template <>
struct WordOf<8> { using type = uint64_t; };

// The checked device needs to know that an atomic function is one in the sight of its block or thread alone, and does not
// count the first look at a word that is about to be changed.
#ifdef SIMT_CHECKED
struct InScope {
    explicit InScope(AtomicScope scope) : scope_(scope) {
        if (scope_ != AtomicScope::device) simt_atomic_scope(scope_);
    }
    ~InScope() {
        if (scope_ != AtomicScope::device) simt_atomic_scope(AtomicScope::device);
    }

private:
    AtomicScope scope_;
};
template <class T>
inline void peek(const T* address, T* value) {
    simt_peek(address, value, sizeof *value);
}
// One try of a read-modify-write. If another thread was faster, only this loop knows: on a GPU there is no such read.
template <class T>
inline bool try_change(T* address, T* seen, const T* desired, int order) {
    return simt_try_change(address, seen, desired, sizeof(T), order);
}
#else
struct InScope {
    explicit InScope(AtomicScope) {}
};
template <class T>
inline void peek(const T* address, T* value) {
    __atomic_load(address, value, __ATOMIC_RELAXED);
}
template <class T>
inline bool try_change(T* address, T* seen, const T* desired, int order) {
    return __atomic_compare_exchange(address, seen, const_cast<T*>(desired), true, order, __ATOMIC_RELAXED);
}
#endif

// `*address = change(*address)` in one step, for any type: the CPU compares and swaps whole words.
template <class T, class Change>
inline T update(T* address, Change change, int order = __ATOMIC_RELAXED) {
    using Word = typename WordOf<sizeof(T)>::type;
    Word* const word = reinterpret_cast<Word*>(address);
    Word seen;
    peek(word, &seen);
    for (;;) {
        const T before = bit_cast<T>(seen);
        const Word after = bit_cast<Word>(T(change(before)));
        if (try_change(word, &seen, &after, order)) return before;
    }
}

template <class T>
inline T compare_and_swap(T* address, T expected, T desired) {
    using Word = typename WordOf<sizeof(T)>::type;
    Word seen = bit_cast<Word>(expected);
    if (!__atomic_compare_exchange_n(reinterpret_cast<Word*>(address), &seen, bit_cast<Word>(desired), false,
                                     __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
        maybe_spinning(0, nullptr);  // on a lock that another thread has
    }
    return bit_cast<T>(seen);
}

template <class T>
inline T exchange(T* address, T value) {
    const T before = update(address, [value](T) { return value; });
    if (memcmp(&before, &value, sizeof value) == 0) maybe_spinning(0, nullptr);
    return before;
}

template <class T>
inline T add(T* address, T value) {
    if constexpr (std::is_integral<T>::value) {
        return __atomic_fetch_add(address, value, __ATOMIC_RELAXED);
    } else {
        return update(address, [value](T old) { return old + value; });
    }
}

using Ull = unsigned long long;

}  // namespace simt

// Each function exists for the scope of a block and of the system, too; only the checked device tells them apart.
#define SIMT_ATOMIC(NAME, SCOPE, MESSAGE, BODY, ...)                                             \
    template <class T>                                                                              \
    inline T NAME(T* address, simt::NotDeduced<T> value) {                                          \
        static_assert(simt::is_one_of<T, __VA_ARGS__>, #NAME " takes " MESSAGE);                    \
        const simt::InScope scope(simt::AtomicScope::SCOPE);                                        \
        BODY                                                                                        \
    }
#define SIMT_ATOMIC_IN_ALL_SCOPES(NAME, MESSAGE, BODY, ...)       \
    SIMT_ATOMIC(NAME, device, MESSAGE, BODY, __VA_ARGS__)         \
    SIMT_ATOMIC(NAME##_block, block, MESSAGE, BODY, __VA_ARGS__)  \
    SIMT_ATOMIC(NAME##_system, device, MESSAGE, BODY, __VA_ARGS__)

SIMT_ATOMIC_IN_ALL_SCOPES(atomicAdd, "int, unsigned, unsigned long long, float or double",
                          { return simt::add(address, value); }, int, unsigned, simt::Ull, float, double)
SIMT_ATOMIC_IN_ALL_SCOPES(atomicSub, "int or unsigned",
                          { return __atomic_fetch_sub(address, value, __ATOMIC_RELAXED); }, int, unsigned)
SIMT_ATOMIC_IN_ALL_SCOPES(atomicExch, "int, unsigned, unsigned long long or float",
                          { return simt::exchange(address, T(value)); },
                          int, unsigned, simt::Ull, float)
SIMT_ATOMIC_IN_ALL_SCOPES(atomicMin, "int, unsigned, long long or unsigned long long",
                          { return simt::update(address, [value](T old) { return value < old ? value : old; }); },
                          int, unsigned, long long, simt::Ull)
SIMT_ATOMIC_IN_ALL_SCOPES(atomicMax, "int, unsigned, long long or unsigned long long",
                          { return simt::update(address, [value](T old) { return value > old ? value : old; }); },
                          int, unsigned, long long, simt::Ull)
SIMT_ATOMIC_IN_ALL_SCOPES(atomicAnd, "int, unsigned, long long or unsigned long long",
                          { return __atomic_fetch_and(address, value, __ATOMIC_RELAXED); },
                          int, unsigned, long long, simt::Ull)
SIMT_ATOMIC_IN_ALL_SCOPES(atomicOr, "int, unsigned, long long or unsigned long long",
                          { return __atomic_fetch_or(address, value, __ATOMIC_RELAXED); },
                          int, unsigned, long long, simt::Ull)
SIMT_ATOMIC_IN_ALL_SCOPES(atomicXor, "int, unsigned, long long or unsigned long long",
                          { return __atomic_fetch_xor(address, value, __ATOMIC_RELAXED); },
                          int, unsigned, long long, simt::Ull)
SIMT_ATOMIC_IN_ALL_SCOPES(atomicInc, "unsigned",
                          { return simt::update(address, [value](T old) { return old >= value ? 0u : old + 1; }); },
                          unsigned)
SIMT_ATOMIC_IN_ALL_SCOPES(atomicDec, "unsigned",
                          { return simt::update(address, [value](T old) {
                                return old == 0 || old > value ? value : old - 1;
                            }); },
                          unsigned)

// Of vectors each element is added by itself.
#define SIMT_ATOMIC_ADD_OF_VECTORS(NAME)                                                                               \
    inline float2 NAME(float2* a, float2 b) { return {NAME(&a->x, b.x), NAME(&a->y, b.y)}; }                           \
    inline float4 NAME(float4* a, float4 b) {                                                                          \
        return {NAME(&a->x, b.x), NAME(&a->y, b.y), NAME(&a->z, b.z), NAME(&a->w, b.w)};                               \
    }
SIMT_ATOMIC_ADD_OF_VECTORS(atomicAdd)
SIMT_ATOMIC_ADD_OF_VECTORS(atomicAdd_block)
SIMT_ATOMIC_ADD_OF_VECTORS(atomicAdd_system)
#undef SIMT_ATOMIC_ADD_OF_VECTORS

#define SIMT_COMPARE_AND_SWAP(NAME, SCOPE)                                                                \
    template <class T>                                                                                    \
    inline T NAME(T* address, simt::NotDeduced<T> expected, simt::NotDeduced<T> desired) {                \
        static_assert(simt::is_one_of<T, int, unsigned, simt::Ull, unsigned short>,                       \
                      #NAME " takes int, unsigned, unsigned long long or unsigned short");                \
        const simt::InScope scope(simt::AtomicScope::SCOPE);                                              \
        return simt::compare_and_swap(address, T(expected), T(desired));                                  \
    }
SIMT_COMPARE_AND_SWAP(atomicCAS, device)
SIMT_COMPARE_AND_SWAP(atomicCAS_block, block)
SIMT_COMPARE_AND_SWAP(atomicCAS_system, device)

#undef SIMT_ATOMIC
#undef SIMT_ATOMIC_IN_ALL_SCOPES
#undef SIMT_COMPARE_AND_SWAP
