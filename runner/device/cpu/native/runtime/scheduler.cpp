#include "scheduler.h"

#include <string.h>

#include "../simt/stack_switch.h"
#include "barrier.h"
#include "collectives.h"

namespace simt {

__thread Lane* current_lane __attribute__((tls_model("initial-exec"))) = nullptr;

namespace {

uint32_t first_lanes(unsigned count) { return count >= lanes_per_warp ? all_lanes : bit(count) - 1; }

uint3 block_index(uint64_t number, const dim3& grid) {
    return uint3{unsigned(number % grid.x), unsigned(number / grid.x % grid.y), unsigned(number / grid.x / grid.y)};
}

// Marsaglia's xorshift.
uint64_t next_random(uint64_t& state) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state >> 16;
}

// One of a set that is not empty: the last, or the next one behind a random place.
unsigned choose(Worker* worker, uint32_t set) {
    if (worker->order == reverse_order) return unsigned(31 - __builtin_clz(set));
    const unsigned place = unsigned(next_random(worker->random)) % lanes_per_warp;
    const uint32_t behind = set & (all_lanes << place);
    return unsigned(__builtin_ctz(behind ? behind : set));
}

void start_block(Worker* worker, uint64_t number) {
    worker->random = (number + 1) * 0x9E3779B97F4A7C15ull ^ worker->order;  // the same on any OS thread
    if (!worker->random) worker->random = 1;
    worker->index = block_index(number, worker->grid_size);
    worker->live = worker->thread_count;
    worker->at_barrier = 0;
    worker->runnable_warps = first_lanes(worker->warp_count);
    for (unsigned w = 0; w < worker->warp_count; ++w) {
        Warp& warp = worker->warps[w];
        const unsigned threads = worker->thread_count - w * lanes_per_warp;
        warp.unstarted = warp.live = first_lanes(threads);
        warp.ready = warp.waiting = warp.at_barrier = 0;
        for (unsigned i = 0; i < lanes_per_warp && i < threads; ++i) warp.lanes[i].fiber = nullptr;
    }
    if (worker->static_shared_bytes) memset(worker->static_shared, garbage, worker->static_shared_bytes);
    if (worker->launch->request.dynamic_shared) {
        memset(worker->dynamic_shared, garbage, worker->launch->request.dynamic_shared);
    }
}

// A lane that has returned no longer counts, which may complete what others wait for.
void leave(Worker* worker, Lane* lane) {
    Warp* const warp = lane->warp;
    warp->live &= ~bit(lane->number);
    worker->live--;
    if (__builtin_expect(warp->waiting != 0, 0)) complete_after_exit(worker, lane);
    if (__builtin_expect(worker->at_barrier != 0 && worker->at_barrier == worker->live, 0)) release_barrier(worker);
}

}  // namespace

// In a random order any warp may be next. In reverse the same warp goes on, as usual.
Lane* pick_otherwise(Worker* worker, Warp* warp) {
    bool another = worker->order != reverse_order;
    while (another || !(warp->unstarted | warp->ready)) {
        if (!another) worker->runnable_warps &= ~bit(warp->number);
        if (!worker->runnable_warps) return nullptr;
        warp = &worker->warps[choose(worker, worker->runnable_warps)];
        another = false;
    }
    const unsigned lane = choose(worker, warp->unstarted | warp->ready);
    warp->unstarted &= ~bit(lane);
    warp->ready &= ~bit(lane);
    return warp->lanes + lane;
}

bool next_lane_slowly() {
    Lane* const done = current_lane;
    Worker* const worker = worker_of(done);
    Fiber* const fiber = done->fiber;
    leave(worker, done);
    Lane* next = pick(worker, done->warp);
    while (!next && worker->live) {
        unblock(worker);
        next = pick(worker, done->warp);
    }
    if (next && !next->fiber) {
        next->fiber = fiber;
        current_lane = next;
        return true;
    }
    worker->fibers.give_back(fiber);
    if (next) {
        current_lane = next;
        switch_stack(&fiber->stack_pointer, next->stack_pointer);
    } else {
        switch_stack(&fiber->stack_pointer, worker->main_stack_pointer);
    }
    return false;  // taken again: perhaps for another kernel, so begin again in fiber_body
}

void fiber_body() {
    for (;;) {
        const LaunchRequest& request = worker_of(current_lane)->launch->request;
        request.kernel(request.arguments);
    }
}

void run_block(Worker* worker, uint64_t number) {
    start_block(worker, number);
    const bool in_reverse = worker->order == reverse_order;
    Lane* const first = pick(worker, &worker->warps[in_reverse ? worker->warp_count - 1 : 0]);
    first->fiber = worker->fibers.take();
    current_lane = first;
    switch_stack(&worker->main_stack_pointer, first->fiber->stack_pointer);
    if (worker->static_shared_bytes) check_zones(worker, nullptr, 0);
}

}  // namespace simt
