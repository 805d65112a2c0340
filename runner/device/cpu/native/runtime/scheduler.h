// Which lane runs next.
//
// There is no scheduler that all lanes return to: a lane that must wait picks its successor and switches to it.
#pragma once

#include "worker.h"

namespace simt {

// Nothing can run: completes groups at __activemask, or reports the deadlock.
void unblock(Worker* worker);

// Runs one block to its end on this OS thread.
void run_block(Worker* worker, uint64_t number);

// What a fiber does all its life.
void fiber_body();

// As `pick`, in reverse or in a random order.
Lane* pick_otherwise(Worker* worker, Warp* warp);

// A lane that can run, taken out of the sets; null if there is none. Lanes of the same warp come first, so that the
// stacks in use are few and warm.
inline Lane* pick(Worker* worker, Warp* warp) {
    if (__builtin_expect(worker->order != usual_order, 0)) return pick_otherwise(worker, warp);
    while (__builtin_expect(!(warp->unstarted | warp->ready), 0)) {
        worker->runnable_warps &= ~bit(warp->number);
        if (!worker->runnable_warps) return nullptr;
        warp = &worker->warps[__builtin_ctz(worker->runnable_warps)];
    }
    const unsigned lane = unsigned(__builtin_ctz(warp->unstarted | warp->ready));
    warp->unstarted &= ~bit(lane);
    warp->ready &= ~bit(lane);
    return warp->lanes + lane;
}

// Whom the waiting lane `waiter` hands over to; null if `waiter` itself can go on after all.
inline Lane* successor(Worker* worker, Lane* waiter) {
    Lane* next = pick(worker, waiter->warp);
    while (__builtin_expect(!next, 0)) {
        unblock(worker);
        next = pick(worker, waiter->warp);
    }
    if (__builtin_expect(next == waiter, 0)) return nullptr;
    if (!next->fiber) {
        next->fiber = worker->fibers.take();
        next->stack_pointer = next->fiber->stack_pointer;
    }
    return next;
}

inline void make_ready(Worker* worker, Warp* warp, uint32_t lanes) {
    warp->ready |= lanes;
    worker->runnable_warps |= bit(warp->number);
}

}  // namespace simt
