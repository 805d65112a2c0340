#include "scheduler.h"

#include <string.h>

#include "../simt/stack_switch.h"
#include "barrier.h"
#include "collectives.h"
#include "events.h"
#include "named_barrier.h"

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
unsigned choose(RunningBlock* block, uint32_t set) {
    if (block->order == reverse_order) return unsigned(31 - __builtin_clz(set));
    const unsigned place = unsigned(next_random(block->random)) % lanes_per_warp;
    const uint32_t behind = set & (all_lanes << place);
    return unsigned(__builtin_ctz(behind ? behind : set));
}

bool is_random(const RunningBlock* block) { return block->order != usual_order && block->order != reverse_order; }

// A lane that has returned no longer counts, which may complete what others wait for.
void leave(RunningBlock* block, Lane* lane) {
    Warp* const warp = lane->warp;
    warp->live &= ~bit(lane->number);
    block->live--;
    if (__builtin_expect(warp->waiting != 0, 0)) complete_after_exit(block, lane);
    if (__builtin_expect(!block->named_barriers.empty() && !warp->live, 0)) complete_named_after_exit(block);
    if (__builtin_expect(block->at_barrier != 0 && block->at_barrier == block->live, 0)) release_barrier(block);
}

Lane* first_lane(RunningBlock* block) {
    const bool in_reverse = block->order == reverse_order;
    return pick(block, &block->warps[in_reverse ? block->warp_count - 1 : 0]);
}

// Of blocks that all wait, one in which lanes wait for each other; else `otherwise`.
RunningBlock* most_telling(Worker* worker, RunningBlock* otherwise) {
    for (uint64_t n = 0; n < worker->launch->block_count; ++n) {
        RunningBlock* const block = worker->further[n].get();
        if (!block->live) continue;
        for (unsigned w = 0; w < block->warp_count; ++w) {
            if (block->warps[w].waiting) return block;
        }
        if (block->at_barrier) return block;
    }
    return otherwise;
}

// Calls do_part(memory, bytes) for the static shared variables and what lies between them, but for wide zones.
template <class DoPart>
void for_static_shared(const Worker* worker, DoPart do_part) {
    const LaunchRequest& request = worker->launch->request;
    uint64_t begin = 0;
    for (uint64_t i = 0; i < request.zone_count; ++i) {
        const Zone& zone = request.zones[i];
        if (zone.size < wide_zone) continue;
        do_part(worker->static_shared + begin, zone.begin - begin);
        begin = zone.begin + zone.size;
    }
    do_part(worker->static_shared + begin, worker->static_shared_bytes - begin);
}

// The block's static shared variables, in place of those of the block that ran before.
void bring_in(RunningBlock* block, RunningBlock* before) {
    const Worker* const worker = block->worker;
    if (block == before || !worker->static_shared_bytes) return;
    size_t at = 0;
    for_static_shared(worker, [&](unsigned char* part, size_t bytes) {
        if (before) memcpy(before->own_shared.data() + at, part, bytes);
        memcpy(part, block->own_shared.data() + at, bytes);
        at += bytes;
    });
}

}  // namespace

bool is_elsewhere_next(RunningBlock* block) { return is_random(block) && next_random(block->random) % 2; }

void start_block(RunningBlock* block, uint64_t number) {
    Worker* const worker = block->worker;
    const NoEscape no_escape(worker);
    block->random = (number + 1) * 0x9E3779B97F4A7C15ull ^ block->order;  // the same on any OS thread
    if (!block->random) block->random = 1;
    block->index = block_index(number, block->grid_size);
    block->live = block->thread_count;
    block->at_barrier = 0;
    block->teams.clear();
    block->named_barriers.clear();
    block->copies.clear();
    block->runnable_warps = first_lanes(block->warp_count);
    for (unsigned w = 0; w < block->warp_count; ++w) {
        Warp& warp = block->warps[w];
        const unsigned threads = block->thread_count - w * lanes_per_warp;
        warp.unstarted = warp.live = first_lanes(threads);
        warp.ready = warp.waiting = warp.at_barrier = warp.on_condition = 0;
        for (unsigned i = 0; i < lanes_per_warp && i < threads; ++i) warp.lanes[i].fiber = nullptr;
    }
    if (worker->static_shared_bytes) {
        for_static_shared(worker, [](unsigned char* part, size_t bytes) { memset(part, garbage, bytes); });
    }
    if (const size_t bytes = worker->launch->request.dynamic_shared) {
        memset(block->dynamic_shared, garbage, bytes + DynamicSharedMemory::slack(bytes));
    }
    events::block_begins(block, number);
}

// In a random order any warp may be next. In reverse the same warp goes on, as usual.
Lane* pick_otherwise(RunningBlock* block, Warp* warp) {
    bool another = block->order != reverse_order;
    while (another || !(warp->unstarted | warp->ready)) {
        if (!another) block->runnable_warps &= ~bit(warp->number);
        if (!block->runnable_warps) return nullptr;
        warp = &block->warps[choose(block, block->runnable_warps)];
        another = false;
    }
    const unsigned lane = choose(block, warp->unstarted | warp->ready);
    warp->unstarted &= ~bit(lane);
    warp->ready &= ~bit(lane);
    return warp->lanes + lane;
}

bool next_lane_slowly() {
    Lane* const done = current_lane;
    RunningBlock* const block = block_of(done);
    Worker* const worker = block->worker;
    Fiber* const fiber = done->fiber;
    leave(block, done);
    Lane* next = pick(block, done->warp);
    while (!next && block->live) {
        next = unblock(block);
        if (!next) next = pick(block, done->warp);
    }
    if (!next) next = &worker->outside;
    if (next != &worker->outside && !next->fiber) {
        next->fiber = fiber;
        current_lane = next;
        return true;
    }
    worker->fibers.give_back(fiber);
    current_lane = next;
    switch_stack(&fiber->stack_pointer, next->stack_pointer);
    return false;  // taken again: perhaps for another kernel, so begin again in fiber_body
}

void fiber_body() {
    for (;;) {
        const LaunchRequest& request = block_of(current_lane)->worker->launch->request;
        request.kernel(request.arguments);
    }
}

void resume(RunningBlock* block, Lane* lane) {
    if (!lane->fiber) {
        lane->fiber = block->worker->fibers.take();
        lane->stack_pointer = lane->fiber->stack_pointer;
    }
    current_lane = lane;
    switch_stack(&block->worker->outside.stack_pointer, lane->stack_pointer);
}

void run_block(Worker* worker, uint64_t number) {
    RunningBlock* const block = &worker->block;
    start_block(block, number);
    resume(block, first_lane(block));
    events::block_ends(block);
    if (has_shared_guards(worker)) check_zones(block, nullptr, 0);
}

// Each block runs until none of its lanes can. So a barrier of the grid costs one turn of all blocks.
void run_grid(Worker* worker) {
    const uint64_t count = worker->launch->block_count;
    worker->grid = Grid();
    for (uint64_t n = 0; n < count; ++n) {
        RunningBlock* const block = worker->further[n].get();
        start_block(block, worker->launch->block_number(n));
        const NoEscape no_escape(worker);
        block->own_shared.clear();
        if (!worker->static_shared_bytes) continue;
        for_static_shared(worker, [&](unsigned char*, size_t bytes) {
            block->own_shared.resize(block->own_shared.size() + bytes, garbage);
        });
    }
    RunningBlock* in = nullptr;
    for (uint64_t left = count, idle = 0, n = 0; left; n = (n + 1) % count) {
        RunningBlock* const block = worker->further[n].get();
        if (!block->live) continue;
        bring_in(block, in);  // what its lanes wait for may lie in shared memory
        in = block;
        wake(block);
        Lane* const lane = first_lane(block);
        if (!lane) {
            if (++idle < left) continue;
            RunningBlock* const told = most_telling(worker, block);
            bring_in(told, in);
            report_deadlock(told);
        }
        idle = 0;
        resume(block, lane);
        if (block->live) continue;
        --left;
        events::block_ends(block);
        if (has_shared_guards(worker)) check_zones(block, nullptr, 0);
    }
}

}  // namespace simt
