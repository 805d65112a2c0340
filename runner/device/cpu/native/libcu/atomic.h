// cuda::atomic and cuda::atomic_ref. Each order is at least as strong as asked for; only the checked device tells scopes
// apart.
#pragma once

#include "../groups/warp.h"

namespace cuda {

enum thread_scope { thread_scope_system, thread_scope_device, thread_scope_block, thread_scope_thread };

namespace std {
enum memory_order {
    memory_order_relaxed = __ATOMIC_RELAXED,
    memory_order_consume = __ATOMIC_CONSUME,
    memory_order_acquire = __ATOMIC_ACQUIRE,
    memory_order_release = __ATOMIC_RELEASE,
    memory_order_acq_rel = __ATOMIC_ACQ_REL,
    memory_order_seq_cst = __ATOMIC_SEQ_CST,
};
}  // namespace std

using std::memory_order;
using std::memory_order_acq_rel;
using std::memory_order_acquire;
using std::memory_order_consume;
using std::memory_order_relaxed;
using std::memory_order_release;
using std::memory_order_seq_cst;

namespace details {

template <class Value>
struct AtomicCondition : simt::Condition {
    const Value* at;
    Value old;

    AtomicCondition(const Value* at_, Value old_)
        : Condition{holds_now, explain_now, "cuda::atomic::wait", at_}, at(at_), old(old_) {}

    static bool holds_now(const Condition* self) {
        const AtomicCondition* const me = static_cast<const AtomicCondition*>(self);
        Value now;
        __atomic_load(me->at, &now, __ATOMIC_SEQ_CST);
        return memcmp(&now, &me->old, sizeof now) != 0;
    }
    static void explain_now(const Condition*, char* out, size_t room) {
        snprintf(out, room, "for a value that no other thread changes");
    }
};

// What an integer or a pointer can be added to: pointers move by elements.
template <class Value>
struct Difference { using type = Value; };
template <class Element>
struct Difference<Element*> { using type = ptrdiff_t; };

// Operations on a value that lies at `at()`.
template <class Self, class Value, thread_scope scope_of_it>
class AtomicOperations {
    static constexpr simt::AtomicScope sight = scope_of_it == thread_scope_thread  ? simt::AtomicScope::thread
                                               : scope_of_it == thread_scope_block ? simt::AtomicScope::block
                                                                                   : simt::AtomicScope::device;
    static_assert(::std::is_trivially_copyable<Value>::value, "an atomic type can be copied as bytes");
    static_assert(sizeof(Value) == 1 || sizeof(Value) == 2 || sizeof(Value) == 4 || sizeof(Value) == 8,
                  "the CPU device has atomics of 1, 2, 4 and 8 bytes");
    using Order = std::memory_order;
    static constexpr Order strongest = std::memory_order_seq_cst;
    using Step = typename Difference<Value>::type;

public:
    using value_type = Value;
    using difference_type = Step;
    static constexpr bool is_always_lock_free = true;
    bool is_lock_free() const { return true; }

    Value load(Order order = strongest, SIMT_CALLED_FROM) const {
        const simt::InScope scope(sight);
        simt::maybe_spinning(line, file);
        Value value;
        __atomic_load(at(), &value, order);
        return value;
    }
    void store(Value value, Order order = strongest) const {
        const simt::InScope scope(sight);
        __atomic_store(at(), &value, order);
    }
    Value exchange(Value value, Order order = strongest, SIMT_CALLED_FROM) const {
        const simt::InScope scope(sight);
        simt::maybe_spinning(line, file);
        Value before;
        __atomic_exchange(at(), &value, &before, order);
        return before;
    }
    bool compare_exchange_strong(Value& expected, Value desired, Order order, Order failure, SIMT_CALLED_FROM) const {
        const simt::InScope scope(sight);
        simt::maybe_spinning(line, file);
        return __atomic_compare_exchange(at(), &expected, &desired, false, order, failure);
    }
    bool compare_exchange_strong(Value& expected, Value desired, Order order = strongest, SIMT_CALLED_FROM) const {
        return compare_exchange_strong(expected, desired, order, without_release(order), line, file);
    }
    bool compare_exchange_weak(Value& expected, Value desired, Order order, Order failure, SIMT_CALLED_FROM) const {
        return compare_exchange_strong(expected, desired, order, failure, line, file);
    }
    bool compare_exchange_weak(Value& expected, Value desired, Order order = strongest, SIMT_CALLED_FROM) const {
        return compare_exchange_strong(expected, desired, order, without_release(order), line, file);
    }

    Value fetch_add(Step step, Order order = strongest) const {
        return update(order, [step](Value old) { return Value(old + step); });
    }
    Value fetch_sub(Step step, Order order = strongest) const {
        return update(order, [step](Value old) { return Value(old - step); });
    }
    Value fetch_and(Value mask, Order order = strongest) const {
        return update(order, [mask](Value old) { return Value(old & mask); });
    }
    Value fetch_or(Value mask, Order order = strongest) const {
        return update(order, [mask](Value old) { return Value(old | mask); });
    }
    Value fetch_xor(Value mask, Order order = strongest) const {
        return update(order, [mask](Value old) { return Value(old ^ mask); });
    }
    Value fetch_min(Value value, Order order = strongest) const {
        return update(order, [value](Value old) { return value < old ? value : old; });
    }
    Value fetch_max(Value value, Order order = strongest) const {
        return update(order, [value](Value old) { return old < value ? value : old; });
    }

    void wait(Value old, Order = strongest, SIMT_CALLED_FROM) const {
        simt::wait_until(AtomicCondition<Value>(at(), old), line, file);
    }
    void notify_one() const {}  // those that wait look themselves
    void notify_all() const {}

    operator Value() const { return load(); }
    Value operator++() const { return fetch_add(1) + 1; }
    Value operator++(int) const { return fetch_add(1); }
    Value operator--() const { return fetch_sub(1) - 1; }
    Value operator--(int) const { return fetch_sub(1); }
    Value operator+=(Step step) const { return fetch_add(step) + step; }
    Value operator-=(Step step) const { return fetch_sub(step) - step; }
    Value operator&=(Value mask) const { return fetch_and(mask) & mask; }
    Value operator|=(Value mask) const { return fetch_or(mask) | mask; }
    Value operator^=(Value mask) const { return fetch_xor(mask) ^ mask; }

private:
    // Of a compare-and-swap that fails, and so writes nothing.
    static constexpr Order without_release(Order order) {
        if (order == std::memory_order_acq_rel) return std::memory_order_acquire;
        return order == std::memory_order_release ? std::memory_order_relaxed : order;
    }
    Value* at() const { return static_cast<const Self*>(this)->at(); }

    template <class Change>
    Value update(Order order, Change change) const {
        const simt::InScope scope(sight);
        Value before, after;
        simt::peek(at(), &before);
        do {
            after = change(before);
        } while (!simt::try_change(at(), &before, &after, order));
        return before;
    }
};

}  // namespace details

template <class Value, thread_scope scope = thread_scope_system>
class atomic : public details::AtomicOperations<atomic<Value, scope>, Value, scope> {
public:
    atomic() = default;
    constexpr atomic(Value value) : value_(value) {}
    atomic(const atomic&) = delete;
    atomic& operator=(const atomic&) = delete;
    Value operator=(Value value) {
        this->store(value);
        return value;
    }

private:
    friend details::AtomicOperations<atomic<Value, scope>, Value, scope>;
    Value* at() const { return const_cast<Value*>(&value_); }

    alignas(sizeof(Value)) Value value_;
};

template <class Value, thread_scope scope = thread_scope_system>
class atomic_ref : public details::AtomicOperations<atomic_ref<Value, scope>, Value, scope> {
public:
    static constexpr size_t required_alignment = sizeof(Value);

    explicit atomic_ref(Value& value) : at_(&value) {}
    atomic_ref(const atomic_ref&) = default;
    atomic_ref& operator=(const atomic_ref&) = delete;
    Value operator=(Value value) const {
        this->store(value);
        return value;
    }

private:
    friend details::AtomicOperations<atomic_ref<Value, scope>, Value, scope>;
    Value* at() const { return at_; }

    Value* at_;
};

template <thread_scope scope>
class atomic_flag_in {
public:
    atomic_flag_in() = default;
    bool test_and_set(std::memory_order order = std::memory_order_seq_cst, SIMT_CALLED_FROM) {
        return flag_.exchange(true, order, line, file);
    }
    void clear(std::memory_order order = std::memory_order_seq_cst) { flag_.store(false, order); }
    bool test(std::memory_order order = std::memory_order_seq_cst, SIMT_CALLED_FROM) const {
        return flag_.load(order, line, file);
    }

private:
    atomic<bool, scope> flag_;
};

inline void atomic_thread_fence(std::memory_order, thread_scope scope = thread_scope_system) {
    if (scope == thread_scope_thread) return;  // orders nothing for others
    if (scope == thread_scope_block) return __threadfence_block();
    __threadfence();
}

namespace std {
template <class Value>
using atomic = cuda::atomic<Value>;
template <class Value>
using atomic_ref = cuda::atomic_ref<Value>;
using atomic_flag = atomic_flag_in<thread_scope_system>;
using atomic_int = atomic<int>;
using atomic_uint = atomic<unsigned>;
using atomic_bool = atomic<bool>;
inline void atomic_thread_fence(memory_order order) { cuda::atomic_thread_fence(order); }
}  // namespace std

}  // namespace cuda
