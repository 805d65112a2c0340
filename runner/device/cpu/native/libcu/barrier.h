// cuda::barrier, and what is made of it.
#pragma once

#include "atomic.h"
#include "copies.h"

namespace simt {

// The state of a barrier in 64 bits, of which it may be no more: how many threads are expected, how many of them are
// still to come in this phase, and the phase.
class BarrierWord {
public:
    static constexpr long most = (1 << 20) - 1;

    void init(long expected, int line, const char* file) {
        if (expected < 0 || expected > most) {
            violation(line, file, "cuda::barrier: %ld expected threads, 0 to %ld are possible", expected, most);
        }
        finish_copies_of(this);  // of a barrier that was here before
        set({uint64_t(expected), uint64_t(expected), 0});
    }

    // Gives the phase in which the arrival counts. `complete` is called by the last to arrive.
    template <class Complete>
    uint64_t arrive(long arrivals, long dropped, Complete complete, int line, const char* file) {
        uint64_t seen = __atomic_load_n(&word_, __ATOMIC_ACQUIRE);
        for (;;) {
            State state = unpacked(seen, line, file);
            if (uint64_t(arrivals) > state.pending) {
                violation(line, file, "cuda::barrier: %llu of %llu threads are still to arrive in this phase, and %ld do",
                          (unsigned long long)state.pending, (unsigned long long)state.expected, arrivals);
            }
            const uint64_t phase = state.phase;
            state.pending -= uint64_t(arrivals);
            state.expected -= uint64_t(dropped);
            const bool is_last = state.pending == 0;
            if (is_last) {
                finish_copies_of(this);
                complete();
                state.pending = state.expected;
                state.phase = (phase + 1) & phases;
            }
            if (__atomic_compare_exchange_n(&word_, &seen, packed(state), false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
                return phase;
            }
        }
    }

    uint64_t phase(int line = 0, const char* file = nullptr) const {
        return unpacked(__atomic_load_n(&word_, __ATOMIC_ACQUIRE), line, file).phase;
    }
    void wait(uint64_t phase, int line, const char* file) const {
        (void)this->phase(line, file);
        wait_until(Released(this, phase, all_of_it), line, file);
    }
    void wait_parity(bool parity, int line, const char* file) const {
        (void)phase(line, file);
        wait_until(Released(this, parity, 1), line, file);
    }

private:
    static constexpr uint64_t phases = (1u << 23) - 1;
    static constexpr uint64_t made = 1ull << 63;
    static constexpr uint64_t all_of_it = ~0ull;

    struct State {
        uint64_t expected, pending, phase;
    };

    struct Released : Condition {
        const BarrierWord* barrier;
        uint64_t phase, mask;

        Released(const BarrierWord* barrier_, uint64_t phase_, uint64_t mask_)
            : Condition{holds_now, explain_now, "cuda::barrier::wait", barrier_},
              barrier(barrier_), phase(phase_), mask(mask_) {}
        static bool holds_now(const Condition* self) {
            const Released* const me = static_cast<const Released*>(self);
            return ((me->barrier->phase() ^ me->phase) & me->mask) != 0;
        }
        static void explain_now(const Condition* self, char* out, size_t room) {
            const uint64_t word = static_cast<const Released*>(self)->barrier->word_;
            const State state = unpacked(word, 0, nullptr);
            snprintf(out, room, "at which %llu of %llu threads have not arrived", (unsigned long long)state.pending,
                     (unsigned long long)state.expected);
        }
    };

    void set(const State& state) { __atomic_store_n(&word_, packed(state), __ATOMIC_RELEASE); }
    static uint64_t packed(const State& state) {
        return made | state.phase << 40 | state.expected << 20 | state.pending;
    }
    static State unpacked(uint64_t word, int line, const char* file) {
        constexpr uint64_t never_written = 0xCBCBCBCBCBCBCBCBull;
        if (__builtin_expect(word == never_written || !(word & made), 0)) {
            violation(line, file, "cuda::barrier is used before init()");
        }
        return {word >> 20 & most, word & most, word >> 40 & phases};
    }

    uint64_t word_;
};

}  // namespace simt

namespace cuda {

namespace std {
struct __empty_completion {
    void operator()() const {}
};
}  // namespace std

template <thread_scope scope, class Completion = std::__empty_completion>
class barrier {
public:
    using arrival_token = uint64_t;

    barrier() = default;
    barrier(ptrdiff_t expected, Completion completion = Completion(), SIMT_CALLED_FROM) : completion_(completion) {
        word_.init(expected, line, file);
    }
    barrier(const barrier&) = delete;
    barrier& operator=(const barrier&) = delete;

    friend void init(barrier* made, ptrdiff_t expected, SIMT_CALLED_FROM) { made->word_.init(expected, line, file); }
    friend void init(barrier* made, ptrdiff_t expected, Completion completion, SIMT_CALLED_FROM) {
        made->completion_ = completion;
        made->word_.init(expected, line, file);
    }

    [[nodiscard]] arrival_token arrive(ptrdiff_t arrivals = 1, SIMT_CALLED_FROM) {
        return word_.arrive(arrivals, 0, completion_, line, file);
    }
    void wait(arrival_token&& token, SIMT_CALLED_FROM) const { word_.wait(token, line, file); }
    void wait_parity(bool parity, SIMT_CALLED_FROM) const { word_.wait_parity(parity, line, file); }
    void arrive_and_wait(SIMT_CALLED_FROM) { word_.wait(word_.arrive(1, 0, completion_, line, file), line, file); }
    void arrive_and_drop(SIMT_CALLED_FROM) { (void)word_.arrive(1, 1, completion_, line, file); }

    // False if the phase is not over. The others run before the next try.
    [[nodiscard]] bool try_wait(arrival_token&& token, SIMT_CALLED_FROM) const {
        return tried(word_.phase(line, file) != token, line, file);
    }
    template <class Duration>
    [[nodiscard]] bool try_wait_for(arrival_token&& token, const Duration&, SIMT_CALLED_FROM) const {
        return tried(word_.phase(line, file) != token, line, file);
    }
    template <class Duration>
    [[nodiscard]] bool try_wait_parity_for(bool parity, const Duration&, SIMT_CALLED_FROM) const {
        return tried((word_.phase(line, file) & 1) != parity, line, file);
    }

    static constexpr ptrdiff_t max() { return simt::BarrierWord::most; }

private:
    static bool tried(bool is_over, int line, const char* file) {
        if (!is_over) simt::yield(line, file);
        return is_over;
    }

    simt::BarrierWord word_;
    [[no_unique_address]] Completion completion_;
};

namespace std {
template <class Completion = __empty_completion>
using barrier = cuda::barrier<thread_scope_system, Completion>;
}  // namespace std

namespace device {
template <class Barrier>
SIMT_NOT_HERE("barrier_native_handle and inline PTX are not there" SIMT_GPU_ONLY)
inline uint64_t* barrier_native_handle(Barrier&);
}  // namespace device

// A copy that ends with the barrier's phase.
template <class Group, class Element, class Size, thread_scope scope, class Completion>
inline void memcpy_async(const Group& group, Element* to, const Element* from, Size bytes,
                         barrier<scope, Completion>& ends_with, SIMT_CALLED_FROM) {
    simt::copy_part(group, to, from, bytes, alignof(simt::ByteIfVoid<Element>), &ends_with, line, file);
}
template <class Element, class Size, thread_scope scope, class Completion>
inline void memcpy_async(Element* to, const Element* from, Size bytes, barrier<scope, Completion>& ends_with,
                         SIMT_CALLED_FROM) {
    memcpy_async(simt::SingleThread(), to, from, bytes, ends_with, line, file);
}

// ---- Made of barriers and atomics ----

template <thread_scope scope>
class latch {
public:
    latch() = default;
    constexpr explicit latch(ptrdiff_t expected) : left_(expected) {}
    latch(const latch&) = delete;
    latch& operator=(const latch&) = delete;
    friend void init(latch* made, ptrdiff_t expected) { made->left_.store(expected); }

    void count_down(ptrdiff_t arrivals = 1) { left_.fetch_sub(arrivals); }
    bool try_wait(SIMT_CALLED_FROM) const { return left_.load(std::memory_order_acquire, line, file) == 0; }
    void wait(SIMT_CALLED_FROM) const {
        for (ptrdiff_t left; (left = left_.load(std::memory_order_acquire, line, file)) != 0;) {
            left_.wait(left, std::memory_order_acquire, line, file);
        }
    }
    void arrive_and_wait(ptrdiff_t arrivals = 1, SIMT_CALLED_FROM) {
        count_down(arrivals);
        wait(line, file);
    }

private:
    atomic<ptrdiff_t, scope> left_;
};

template <thread_scope scope, ptrdiff_t most = 0x7fffffff>
class counting_semaphore {
public:
    counting_semaphore() = default;
    constexpr explicit counting_semaphore(ptrdiff_t count) : count_(count) {}
    void release(ptrdiff_t more = 1) { count_.fetch_add(more); }
    bool try_acquire(SIMT_CALLED_FROM) {
        ptrdiff_t seen = count_.load(std::memory_order_acquire, line, file);
        while (seen > 0) {
            if (count_.compare_exchange_weak(seen, seen - 1, std::memory_order_acq_rel, line, file)) return true;
        }
        return false;
    }
    void acquire(SIMT_CALLED_FROM) {
        while (!try_acquire(line, file)) count_.wait(0, std::memory_order_acquire, line, file);
    }

private:
    atomic<ptrdiff_t, scope> count_;
};
template <thread_scope scope>
using binary_semaphore = counting_semaphore<scope, 1>;

namespace std {
using latch = cuda::latch<thread_scope_system>;
template <ptrdiff_t most = 0x7fffffff>
using counting_semaphore = cuda::counting_semaphore<thread_scope_system, most>;
using binary_semaphore = cuda::binary_semaphore<thread_scope_system>;
}  // namespace std

}  // namespace cuda
