// The functions that code compiled with -fsanitize=thread calls. They are not ThreadSanitizer's: that library knows
// nothing of blocks, warps and shared memory. The interface is the one of GCC and Clang (libsanitizer,
// tsan_interface.h and tsan_interface_atomic.h).
#include <string.h>

#include "../runtime/scheduler.h"
#include "monitor.h"
#include "quick.h"

namespace simt::checked {

namespace {

uint32_t code_of(const void* return_address) {
    const Worker* const worker = current_worker;
    if (!worker || !worker->launch) return 0;
    return uint32_t(reinterpret_cast<uintptr_t>(return_address) - 1 - worker->launch->request.code_begin);
}

// A loop that accesses one word again and again may wait for another thread to write. In a random order others may run
// first at any such access: what a thread finds there depends on how far they are.
void let_others_write(const volatile void* address) {
    const Lane* const lane = current_lane;
    if (!lane || lane == &current_worker->outside) return;
    BlockWatch* const watch = block_of(lane)->watch.get();
    if (!watch) return maybe_spinning(0, nullptr);
    if (watch->is_off) return;
    if (is_elsewhere_next(block_of(lane))) return yield(0, nullptr);
    if (watch->reader == lane && watch->read == address) return maybe_spinning(0, nullptr);
    watch->reader = lane;
    watch->read = address;
}

// Atomic functions of smaller scopes say so before they access memory. One in the sight of its own thread alone is a plain
// access to all others.
Scope scope_now() {
    const Lane* const lane = current_lane;
    if (!lane || lane == &current_worker->outside) return Scope::device;
    const BlockWatch* const watch = block_of(lane)->watch.get();
    if (!watch) return Scope::device;
    switch (watch->scopes[lane - block_of(lane)->lanes]) {
        case AtomicScope::device: return Scope::device;
        case AtomicScope::block: return Scope::block;
        case AtomicScope::thread: return Scope::none;
    }
    return Scope::device;
}

void plain(const void* address, uint64_t bytes, bool writes, bool is_volatile, const void* from, bool aligned = false) {
    Access made = {};
    made.is_aligned = aligned;
    made.reads = !writes;
    made.writes = writes;
    made.is_volatile = is_volatile;
    made.code = code_of(from);
    if (is_volatile && !writes) let_others_write(address);
    access(reinterpret_cast<uintptr_t>(address), bytes, made);
}

__attribute__((noinline)) void plain_and_learn(const void* address, uint64_t bytes, bool writes, const void* from,
                                               bool aligned) {
    plain(address, bytes, writes, false, from, aligned);
    const Lane* const lane = current_lane;
    if (!lane || !lane->block || !block_of(lane)->quick) return;
    const BlockWatch& watch = *block_of(lane)->watch;
    if (!watch.last || !watch.last->holds(reinterpret_cast<uintptr_t>(address))) return;  // it is of the kernel's own stack
    watch.observers.front()->go_quickly(*watch.last, code_of(from), bytes);
}

// Other than `plain`, for instructions that always access the same number of bytes.
template <bool writes, unsigned bytes, bool aligned>
inline __attribute__((always_inline)) void fixed(const void* address, const void* from) {
    if (__builtin_expect(quick<writes, bytes, aligned>(reinterpret_cast<uintptr_t>(address), from), 1)) return;
    plain_and_learn(address, bytes, writes, from, aligned);
}

enum class Atomic { load, store, change, swap, failed_swap };

void atomic(const volatile void* address, uint64_t bytes, Atomic kind, int order, const void* from) {
    const bool reads = kind != Atomic::store, writes = kind != Atomic::load && kind != Atomic::failed_swap;
    Access made = {};
    made.is_aligned = true;
    made.reads = reads;
    made.writes = writes;
    made.atomic = scope_now();
    if (made.atomic != Scope::none) {
        made.compares = kind == Atomic::swap || kind == Atomic::failed_swap;
        made.changes = kind == Atomic::change || made.compares;
        made.acquires = reads && order != __ATOMIC_RELAXED && order != __ATOMIC_RELEASE;
        made.releases = writes && (order == __ATOMIC_RELEASE || order == __ATOMIC_ACQ_REL || order == __ATOMIC_SEQ_CST);
    }
    made.code = code_of(from);
    access(reinterpret_cast<uintptr_t>(address), bytes, made);
}

// While this exists no other OS thread looks at or does an atomic operation on this word, so that what is observed is in
// the order in which it happens.
class Turn {
public:
    explicit Turn(const volatile void* address)
        : flag_(flags_[reinterpret_cast<uintptr_t>(address) / 8 % count_]) {
        let_others_write(address);
        const Launch& launch = *current_worker->launch;
        while (flag_.test_and_set(std::memory_order_acquire)) {
            if (launch.stopped) break;  // by who has the turn, and does not come back
        }
    }
    ~Turn() { flag_.clear(std::memory_order_release); }
    static void reset() {
        for (std::atomic_flag& flag : flags_) flag.clear();
    }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

private:
    static constexpr size_t count_ = 256;
    static std::atomic_flag flags_[count_];
    std::atomic_flag& flag_;
};
std::atomic_flag Turn::flags_[Turn::count_];

void fence(Scope scope) {
    Lane* const lane = current_lane;
    if (!lane || lane == &current_worker->outside) return;
    const BlockWatch* const watch = block_of(lane)->watch.get();
    if (!watch || watch->is_off) return;
    const NoEscape no_escape(current_worker);
    for (const auto& observer : watch->observers) observer->fence(*lane, scope);
}

// Bytes that an asynchronous copy will write, or has written.
void copied_or_not(const void* to, uint64_t bytes, bool done) {
    RunningBlock* const block = block_of(current_lane);
    BlockWatch* const watch = block->watch.get();
    const uintptr_t address = reinterpret_cast<uintptr_t>(to);
    const Array* const array = watch && !watch->is_off ? watch->find(address, *block) : nullptr;
    if (!array) return;
    for (const auto& observer : watch->observers) observer->async_write(*array, address - array->begin, bytes, done);
}

}  // namespace

void reset_turns() { Turn::reset(); }

}  // namespace simt::checked

namespace simt::events {

void copies(void* to, const void* from, size_t bytes, size_t zeros, bool later, const void* call) {
    using namespace checked;
    if (bytes) plain(from, bytes, false, false, call);
    plain(to, bytes + zeros, true, false, call);
    if (later) copied_or_not(to, bytes + zeros, false);
}

void copied(void* to, size_t bytes) { checked::copied_or_not(to, bytes, true); }

}  // namespace simt::events

#define SIMT_ACCESSES(BYTES)                                                                                         \
    SIMT_HOOK void __tsan_read##BYTES(void* a) { simt::checked::fixed<false, BYTES, true>(a, SIMT_CALLER); }           \
    SIMT_HOOK void __tsan_write##BYTES(void* a) { simt::checked::fixed<true, BYTES, true>(a, SIMT_CALLER); }           \
    SIMT_HOOK void __tsan_read_write##BYTES(void* a) {                                                               \
        simt::checked::fixed<false, BYTES, false>(a, SIMT_CALLER);                                                   \
        simt::checked::fixed<true, BYTES, false>(a, SIMT_CALLER);                                                    \
    }                                                                                                                \
    SIMT_HOOK void __tsan_volatile_read##BYTES(void* a) {                                                            \
        simt::checked::plain(a, BYTES, false, true, SIMT_CALLER, true);                                              \
    }                                                                                                                \
    SIMT_HOOK void __tsan_volatile_write##BYTES(void* a) {                                                           \
        simt::checked::plain(a, BYTES, true, true, SIMT_CALLER, true);                                               \
    }                                                                                                                \
    SIMT_HOOK void __tsan_unaligned_read##BYTES(void* a) {                                                           \
        simt::checked::fixed<false, BYTES, false>(a, SIMT_CALLER);                                                   \
    }                                                                                                                \
    SIMT_HOOK void __tsan_unaligned_write##BYTES(void* a) {                                                          \
        simt::checked::fixed<true, BYTES, false>(a, SIMT_CALLER);                                                    \
    }                                                                                                                \
    SIMT_HOOK void __tsan_unaligned_read_write##BYTES(void* a) {                                                     \
        simt::checked::fixed<false, BYTES, false>(a, SIMT_CALLER);                                                   \
        simt::checked::fixed<true, BYTES, false>(a, SIMT_CALLER);                                                    \
    }                                                                                                                \
    SIMT_HOOK void __tsan_unaligned_volatile_read##BYTES(void* a) {                                                  \
        simt::checked::plain(a, BYTES, false, true, SIMT_CALLER);                                                    \
    }                                                                                                                \
    SIMT_HOOK void __tsan_unaligned_volatile_write##BYTES(void* a) {                                                 \
        simt::checked::plain(a, BYTES, true, true, SIMT_CALLER);                                                     \
    }
SIMT_ACCESSES(1)
SIMT_ACCESSES(2)
SIMT_ACCESSES(4)
SIMT_ACCESSES(8)
SIMT_ACCESSES(16)

SIMT_HOOK void __tsan_read_range(void* a, size_t bytes) {
    if (bytes) simt::checked::plain(a, bytes, false, false, SIMT_CALLER);
}
SIMT_HOOK void __tsan_write_range(void* a, size_t bytes) {
    if (bytes) simt::checked::plain(a, bytes, true, false, SIMT_CALLER);
}
SIMT_HOOK void* __tsan_memcpy(void* to, const void* from, size_t bytes) {
    if (bytes) {
        simt::checked::plain(from, bytes, false, false, SIMT_CALLER);
        simt::checked::plain(to, bytes, true, false, SIMT_CALLER);
    }
    return memcpy(to, from, bytes);
}
SIMT_HOOK void* __tsan_memmove(void* to, const void* from, size_t bytes) {
    if (bytes) {
        simt::checked::plain(from, bytes, false, false, SIMT_CALLER);
        simt::checked::plain(to, bytes, true, false, SIMT_CALLER);
    }
    return memmove(to, from, bytes);
}
SIMT_HOOK void* __tsan_memset(void* to, int value, size_t bytes) {
    if (bytes) simt::checked::plain(to, bytes, true, false, SIMT_CALLER);
    return memset(to, value, bytes);
}
// What clang++ makes of a copy of a structure; see --wrap in build.py.
SIMT_HOOK void* __wrap_memcpy(void* to, const void* from, size_t bytes) {
    if (bytes) {
        simt::checked::plain(from, bytes, false, false, SIMT_CALLER);
        simt::checked::plain(to, bytes, true, false, SIMT_CALLER);
    }
    return memcpy(to, from, bytes);
}
SIMT_HOOK void* __wrap_memset(void* to, int value, size_t bytes) {
    if (bytes) simt::checked::plain(to, bytes, true, false, SIMT_CALLER);
    return memset(to, value, bytes);
}
SIMT_HOOK void __tsan_vptr_read(void** a) { simt::checked::plain(a, sizeof *a, false, false, SIMT_CALLER); }
SIMT_HOOK void __tsan_vptr_update(void** a, void*) { simt::checked::plain(a, sizeof *a, true, false, SIMT_CALLER); }

// -fsanitize=alignment calls this before an access that is not aligned for its type. Where the compiler knows that an
// access is misaligned, as at an odd offset from the begin of an array, the functions above get the bytes alone.
struct Mismatch {
    const char* file;
    uint32_t line, column;
    const void* type;
    uint8_t log_alignment;
    uint8_t kind;
};
SIMT_HOOK void __ubsan_handle_type_mismatch_v1(const Mismatch* found, uintptr_t address) {
    constexpr uint8_t load = 0, store = 1;  // others, such as of a member, access less than the whole type
    if (found->kind > store) return;
    simt::checked::Access made = {};
    made.is_aligned = true;
    made.reads = found->kind == load;
    made.writes = found->kind == store;
    made.code = simt::checked::code_of(SIMT_CALLER);
    simt::checked::access(address, uint64_t(1) << found->log_alignment, made);
}

SIMT_HOOK void __tsan_init() {}
SIMT_HOOK void __tsan_func_entry(void*) {}
SIMT_HOOK void __tsan_func_exit() {}

// The accesses are real atomics: blocks run on several OS threads at once.
#define SIMT_CHANGE(BITS, T, NAME)                                                                  \
    SIMT_HOOK T __tsan_atomic##BITS##_##NAME(volatile T* a, T value, int order) {                   \
        const simt::checked::Turn turn(a);                                                          \
        simt::checked::atomic(a, sizeof(T), simt::checked::Atomic::change, order, SIMT_CALLER);     \
        return __atomic_##NAME(a, value, __ATOMIC_SEQ_CST);                                         \
    }
#define SIMT_COMPARE(A, T, EXPECTED, ORDER, FAILURE)                                                     \
    const simt::checked::Turn turn(A);                                                                   \
    const bool is_equal = __atomic_load_n(A, __ATOMIC_SEQ_CST) == EXPECTED;                              \
    simt::checked::atomic(A, sizeof(T),                                                                  \
                          is_equal ? simt::checked::Atomic::swap : simt::checked::Atomic::failed_swap, \
                          is_equal ? ORDER : FAILURE, SIMT_CALLER)
#define SIMT_SWAP(BITS, T, NAME)                                                                                 \
    SIMT_HOOK int __tsan_atomic##BITS##_compare_exchange_##NAME(volatile T* a, T* expected, T desired, int order, \
                                                                int failure) {                                   \
        SIMT_COMPARE(a, T, *expected, order, failure);                                                           \
        return __atomic_compare_exchange_n(a, expected, desired, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);     \
    }
#define SIMT_ATOMICS(BITS, T)                                                                                   \
    SIMT_HOOK T __tsan_atomic##BITS##_load(const volatile T* a, int order) {                                    \
        const simt::checked::Turn turn(a);                                                                      \
        simt::checked::atomic(a, sizeof(T), simt::checked::Atomic::load, order, SIMT_CALLER);                   \
        return __atomic_load_n(a, __ATOMIC_SEQ_CST);                                                            \
    }                                                                                                           \
    SIMT_HOOK void __tsan_atomic##BITS##_store(volatile T* a, T value, int order) {                             \
        const simt::checked::Turn turn(a);                                                                      \
        simt::checked::atomic(a, sizeof(T), simt::checked::Atomic::store, order, SIMT_CALLER);                  \
        __atomic_store_n(a, value, __ATOMIC_SEQ_CST);                                                           \
    }                                                                                                           \
    SIMT_HOOK T __tsan_atomic##BITS##_exchange(volatile T* a, T value, int order) {                             \
        const simt::checked::Turn turn(a);                                                                      \
        simt::checked::atomic(a, sizeof(T), simt::checked::Atomic::change, order, SIMT_CALLER);                 \
        return __atomic_exchange_n(a, value, __ATOMIC_SEQ_CST);                                                 \
    }                                                                                                           \
    SIMT_CHANGE(BITS, T, fetch_add)                                                                             \
    SIMT_CHANGE(BITS, T, fetch_sub)                                                                             \
    SIMT_CHANGE(BITS, T, fetch_and)                                                                             \
    SIMT_CHANGE(BITS, T, fetch_or)                                                                              \
    SIMT_CHANGE(BITS, T, fetch_xor)                                                                             \
    SIMT_CHANGE(BITS, T, fetch_nand)                                                                            \
    SIMT_SWAP(BITS, T, strong)                                                                                  \
    SIMT_SWAP(BITS, T, weak)                                                                                    \
    SIMT_HOOK T __tsan_atomic##BITS##_compare_exchange_val(volatile T* a, T expected, T desired, int order,     \
                                                           int failure) {                                       \
        SIMT_COMPARE(a, T, expected, order, failure);                                                           \
        __atomic_compare_exchange_n(a, &expected, desired, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);          \
        return expected;                                                                                        \
    }
SIMT_ATOMICS(8, uint8_t)
SIMT_ATOMICS(16, uint16_t)
SIMT_ATOMICS(32, uint32_t)
SIMT_ATOMICS(64, uint64_t)

SIMT_HOOK void __tsan_atomic_thread_fence(int) { simt::checked::fence(simt::checked::Scope::device); }
SIMT_HOOK void __tsan_atomic_signal_fence(int) { simt::checked::fence(simt::checked::Scope::block); }

void simt_atomic_scope(simt::AtomicScope scope) noexcept {
    const simt::RunningBlock* const block = simt::block_of(simt::current_lane);
    if (block->watch) block->watch->scopes[simt::current_lane - block->lanes] = scope;
}

namespace simt::checked {
namespace {

template <class T>
int try_change(void* address, void* seen, const void* desired, int order, const void* from) {
    T* const word = static_cast<T*>(address);
    const Turn turn(word);
    const T now = __atomic_load_n(word, __ATOMIC_SEQ_CST);
    if (memcmp(&now, seen, sizeof now) != 0) {
        memcpy(seen, &now, sizeof now);
        return 0;
    }
    atomic(word, sizeof(T), Atomic::change, order, from);
    T made;
    memcpy(&made, desired, sizeof made);
    __atomic_store_n(word, made, __ATOMIC_SEQ_CST);
    return 1;
}

}  // namespace
}  // namespace simt::checked

int simt_try_change(void* address, void* seen, const void* desired, size_t bytes, int order) noexcept {
    using namespace simt::checked;
    const void* const from = SIMT_CALLER;
    if (bytes == 8) return try_change<uint64_t>(address, seen, desired, order, from);
    if (bytes == 4) return try_change<uint32_t>(address, seen, desired, order, from);
    if (bytes == 2) return try_change<uint16_t>(address, seen, desired, order, from);
    return try_change<uint8_t>(address, seen, desired, order, from);
}

void simt_padding(void* at, size_t bytes) noexcept { simt::checked::copied_or_not(at, bytes, true); }

void simt_peek(const void* from, void* to, size_t bytes) noexcept {
    const volatile void* const at = from;
    if (bytes == 8) *static_cast<uint64_t*>(to) = *static_cast<const volatile uint64_t*>(at);
    if (bytes == 4) *static_cast<uint32_t*>(to) = *static_cast<const volatile uint32_t*>(at);
    if (bytes == 2) *static_cast<uint16_t*>(to) = *static_cast<const volatile uint16_t*>(at);
    if (bytes == 1) *static_cast<uint8_t*>(to) = *static_cast<const volatile uint8_t*>(at);
}
