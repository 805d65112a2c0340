// The points at which a lane may have to wait, and the loop that takes one lane after the other.
#pragma once

#include "stack_switch.h"
#include "state.h"

#define SIMT_ALWAYS_INLINE inline __attribute__((always_inline))

// What a kernel calls that accesses no memory of the kernel: for the checked device no part of the kernel's own code, so
// that its accesses are not seen.
#if !defined(SIMT_CHECKED)
#define SIMT_UNSEEN SIMT_ALWAYS_INLINE
#elif defined(__clang__)
#define SIMT_UNSEEN __attribute__((noinline, disable_sanitizer_instrumentation)) inline
#else
#define SIMT_UNSEEN __attribute__((noinline, no_sanitize_thread)) inline
#endif

namespace simt {

SIMT_ALWAYS_INLINE void hand_over_to(Lane* next) {
    Lane* me = current_lane;
    current_lane = next;
    switch_stack(&me->stack_pointer, next->stack_pointer);
}

SIMT_ALWAYS_INLINE uint64_t collective(Operation operation, uint32_t mask, uint64_t operand, uint32_t source, int line,
                                       const char* file, Caller caller = Caller::intrinsic) {
    if (Lane* next = arrive(rendezvous(operation, mask, caller), operand, source, line, file)) hand_over_to(next);
    const Lane* me = current_lane;
    return me->warp->result[me->number];
}

SIMT_UNSEEN void barrier(Operation operation, bool predicate, int line, const char* file) {
    if (Lane* next = arrive_at_barrier(operation, predicate, line, file)) hand_over_to(next);
}

inline void wait_until(const Condition& condition, int line, const char* file) {
    while (!condition.holds(&condition)) {
        if (Lane* next = wait_for(&condition, line, file)) hand_over_to(next);
    }
}

// The current lane has returned: can a fresh lane of its warp run on the same stack, without any switch? That is what
// makes a kernel without barriers a plain loop. Lanes that wait or are ready go first: the fewer stacks are in use,
// the warmer they stay. In another order than the usual the scheduler decides.
SIMT_UNSEEN bool next_lane() {
    Lane* done = current_lane;
    Warp* warp = done->warp;
    Block* block = done->block;
    const uint32_t unstarted = warp->unstarted;
    const bool nobody_waits = !(warp->ready | warp->waiting | block->at_barrier);
    if (__builtin_expect(unstarted && nobody_waits && !block->order, 1)) {
        warp->live &= ~bit(done->number);
        block->live--;
        Lane* next = warp->lanes + __builtin_ctz(unstarted);
        warp->unstarted = unstarted & (unstarted - 1);
        next->fiber = done->fiber;
        current_lane = next;
        return true;
    }
    return next_lane_slowly();
}

}  // namespace simt
