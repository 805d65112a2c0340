// Atomic functions that take their order and scope as arguments (CUDA 12.8).
#pragma once

enum { __NV_ATOMIC_RELAXED, __NV_ATOMIC_CONSUME, __NV_ATOMIC_ACQUIRE, __NV_ATOMIC_RELEASE, __NV_ATOMIC_ACQ_REL, __NV_ATOMIC_SEQ_CST };
enum {
    __NV_THREAD_SCOPE_THREAD,
    __NV_THREAD_SCOPE_BLOCK,
    __NV_THREAD_SCOPE_CLUSTER,
    __NV_THREAD_SCOPE_DEVICE,
    __NV_THREAD_SCOPE_SYSTEM,
};

static_assert(__NV_ATOMIC_RELAXED == __ATOMIC_RELAXED && __NV_ATOMIC_CONSUME == __ATOMIC_CONSUME &&
              __NV_ATOMIC_ACQUIRE == __ATOMIC_ACQUIRE && __NV_ATOMIC_RELEASE == __ATOMIC_RELEASE &&
              __NV_ATOMIC_ACQ_REL == __ATOMIC_ACQ_REL && __NV_ATOMIC_SEQ_CST == __ATOMIC_SEQ_CST,
              "the host's compiler takes these numbers as they are");

namespace simt {

// Without clusters, a block is a cluster of its own.
constexpr AtomicScope scope_of(int scope) {
    return scope == __NV_THREAD_SCOPE_THREAD   ? AtomicScope::thread
           : scope <= __NV_THREAD_SCOPE_CLUSTER ? AtomicScope::block
                                                : AtomicScope::device;
}

// Of a compare-and-swap that fails, and so writes nothing.
constexpr int without_release(int order) {
    return order == __ATOMIC_ACQ_REL ? __ATOMIC_ACQUIRE : order == __ATOMIC_RELEASE ? __ATOMIC_RELAXED : order;
}

}  // namespace simt

// Those that end in _n take integers by value, the others any type by pointers.
#define SIMT_OF_INTEGERS static_assert(std::is_integral<T>::value, "an atomic function that ends in _n takes integers")

template <class T>
inline void __nv_atomic_load(const T* address, T* value, int order, int scope = __NV_THREAD_SCOPE_SYSTEM) {
    const simt::InScope in(simt::scope_of(scope));
    simt::maybe_spinning(0, nullptr);
    T seen;
    __atomic_load(address, &seen, order);
    *value = seen;
}
template <class T>
inline T __nv_atomic_load_n(const T* address, int order, int scope = __NV_THREAD_SCOPE_SYSTEM) {
    SIMT_OF_INTEGERS;
    T value;
    __nv_atomic_load(address, &value, order, scope);
    return value;
}

template <class T>
inline void __nv_atomic_store(T* address, T* value, int order, int scope = __NV_THREAD_SCOPE_SYSTEM) {
    const simt::InScope in(simt::scope_of(scope));
    T given = *value;
    __atomic_store(address, &given, order);
}
template <class T>
inline void __nv_atomic_store_n(T* address, simt::NotDeduced<T> value, int order, int scope = __NV_THREAD_SCOPE_SYSTEM) {
    SIMT_OF_INTEGERS;
    __nv_atomic_store(address, &value, order, scope);
}

template <class T>
inline void __nv_atomic_exchange(T* address, T* value, T* before, int order, int scope = __NV_THREAD_SCOPE_SYSTEM) {
    const simt::InScope in(simt::scope_of(scope));
    simt::maybe_spinning(0, nullptr);
    T given = *value, seen;
    __atomic_exchange(address, &given, &seen, order);
    *before = seen;
}
template <class T>
inline T __nv_atomic_exchange_n(T* address, simt::NotDeduced<T> value, int order, int scope = __NV_THREAD_SCOPE_SYSTEM) {
    SIMT_OF_INTEGERS;
    T before;
    __nv_atomic_exchange(address, &value, &before, order, scope);
    return before;
}

template <class T>
inline bool __nv_atomic_compare_exchange(T* address, T* expected, T* desired, bool, int order, int failure,
                                         int scope = __NV_THREAD_SCOPE_SYSTEM) {
    const simt::InScope in(simt::scope_of(scope));
    simt::maybe_spinning(0, nullptr);
    T seen = *expected, given = *desired;
    const bool done = __atomic_compare_exchange(address, &seen, &given, false, order, simt::without_release(failure));
    if (!done) *expected = seen;
    return done;
}
template <class T>
inline bool __nv_atomic_compare_exchange_n(T* address, T* expected, simt::NotDeduced<T> desired, bool weak, int order,
                                           int failure, int scope = __NV_THREAD_SCOPE_SYSTEM) {
    SIMT_OF_INTEGERS;
    return __nv_atomic_compare_exchange(address, expected, &desired, weak, order, failure, scope);
}
#undef SIMT_OF_INTEGERS

// Each exists with and without the value before.
#define SIMT_SCOPED_CHANGE(NAME, VALUE)                                                                                       \
    template <class T>                                                                                                        \
    inline T __nv_atomic_fetch_##NAME(T* address, simt::NotDeduced<T> value, int order, int scope = __NV_THREAD_SCOPE_SYSTEM) { \
        const simt::InScope in(simt::scope_of(scope));                                                                        \
        return simt::update(address, [value](T old) { return T(VALUE); }, order);                                             \
    }                                                                                                                         \
    template <class T>                                                                                                        \
    inline void __nv_atomic_##NAME(T* address, simt::NotDeduced<T> value, int order, int scope = __NV_THREAD_SCOPE_SYSTEM) {  \
        __nv_atomic_fetch_##NAME(address, value, order, scope);                                                               \
    }
SIMT_SCOPED_CHANGE(add, old + value)
SIMT_SCOPED_CHANGE(sub, old - value)
SIMT_SCOPED_CHANGE(and, old & value)
SIMT_SCOPED_CHANGE(or, old | value)
SIMT_SCOPED_CHANGE(xor, old ^ value)
SIMT_SCOPED_CHANGE(min, value < old ? value : old)
SIMT_SCOPED_CHANGE(max, old < value ? value : old)
#undef SIMT_SCOPED_CHANGE

inline void __nv_atomic_thread_fence(int, int scope = __NV_THREAD_SCOPE_SYSTEM) {
    if (scope == __NV_THREAD_SCOPE_THREAD) return;  // orders nothing for others
    if (scope <= __NV_THREAD_SCOPE_CLUSTER) return __threadfence_block();
    __threadfence();
}
