// Which lane runs next.
//
// There is no scheduler that all lanes return to: a lane that must wait picks its successor and switches to it.
#pragma once

#include "worker.h"

namespace simt {

// Nothing in the block can run: completes groups at __activemask, wakes lanes whose condition holds, or reports the
// deadlock. In a cooperative launch other blocks may run: gives the lane to hand over to for that, else null.
Lane* unblock(RunningBlock* block);

// Wakes the lanes whose condition holds. True if there were any.
bool wake(RunningBlock* block);

// In a random order: whether to go on elsewhere, a toss. In the other orders no.
bool is_elsewhere_next(RunningBlock* block);

// Nothing in the block can ever run.
[[noreturn]] void report_deadlock(RunningBlock* block);

// Makes everything ready to run the `number`th block of the grid.
void start_block(RunningBlock* block, uint64_t number);

// Runs lanes of the block on this OS thread until the block ends, or in a cooperative launch until it must wait.
void resume(RunningBlock* block, Lane* lane);

// Runs one block to its end on this OS thread.
void run_block(Worker* worker, uint64_t number);

// Runs all blocks of a cooperative launch on this OS thread, in turns.
void run_grid(Worker* worker);

// What a fiber does all its life.
void fiber_body();

// As `pick`, in reverse or in a random order.
Lane* pick_otherwise(RunningBlock* block, Warp* warp);

// A lane that can run, taken out of the sets; null if there is none. Lanes of the same warp come first, so that the
// stacks in use are few and warm.
inline Lane* pick(RunningBlock* block, Warp* warp) {
    if (__builtin_expect(block->order != usual_order, 0)) return pick_otherwise(block, warp);
    while (__builtin_expect(!(warp->unstarted | warp->ready), 0)) {
        block->runnable_warps &= ~bit(warp->number);
        if (!block->runnable_warps) return nullptr;
        warp = &block->warps[__builtin_ctz(block->runnable_warps)];
    }
    const unsigned lane = unsigned(__builtin_ctz(warp->unstarted | warp->ready));
    warp->unstarted &= ~bit(lane);
    warp->ready &= ~bit(lane);
    return warp->lanes + lane;
}

// Whom the waiting lane `waiter` hands over to; null if `waiter` itself can go on after all.
inline Lane* successor(RunningBlock* block, Lane* waiter) {
    Lane* next = pick(block, waiter->warp);
    while (__builtin_expect(!next, 0)) {
        if (Lane* const outside = unblock(block)) return outside;
        next = pick(block, waiter->warp);
    }
    if (__builtin_expect(next == waiter, 0)) return nullptr;
    if (!next->fiber) {
        next->fiber = block->worker->fibers.take();
        next->stack_pointer = next->fiber->stack_pointer;
    }
    return next;
}

inline void make_ready(RunningBlock* block, Warp* warp, uint32_t lanes) {
    warp->ready |= lanes;
    block->runnable_warps |= bit(warp->number);
}

}  // namespace simt
