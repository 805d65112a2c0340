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

void start_block(Worker* worker, uint64_t number) {
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
    Lane* const first = pick(worker, &worker->warps[0]);
    first->fiber = worker->fibers.take();
    current_lane = first;
    switch_stack(&worker->main_stack_pointer, first->fiber->stack_pointer);
    if (worker->static_shared_bytes) check_zones(worker, nullptr, 0);
}

}  // namespace simt
