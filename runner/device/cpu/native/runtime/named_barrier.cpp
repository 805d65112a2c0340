// Named barriers. PTX counts whole warps: a warp arrives once all of its live lanes have come ("barrier" in the PTX ISA).
#include "named_barrier.h"

#include <stdio.h>
#include <string.h>

#include "../simt/suspend.h"
#include "diagnostics.h"
#include "events.h"

namespace simt {

namespace {

constexpr uint32_t named_barriers = 16;

// What a lane brings along: the barrier's number and how many threads take part.
constexpr uint64_t packed(uint32_t number, uint32_t threads) { return uint64_t(threads) << 32 | number; }

uint32_t warps_alive(const RunningBlock* block) {
    uint32_t warps = 0;
    for (unsigned w = 0; w < block->warp_count; ++w) {
        if (block->warps[w].live) warps |= bit(w);
    }
    return warps;
}

bool is_complete(const RunningBlock* block, const NamedBarrier& barrier) {
    if (barrier.threads) return barrier.arrived >= barrier.threads;
    const uint32_t alive = warps_alive(block);
    return (barrier.warps & alive) == alive;
}

void complete(RunningBlock* block, uint32_t number) {
    NamedBarrier& barrier = block->named_barriers[number];
    events::named_barrier_completes(block, number, barrier.waiting);
    const uint32_t phase = barrier.phase + 1;
    barrier = NamedBarrier();
    barrier.phase = phase;
}

struct NamedCondition : Condition {
    const RunningBlock* block;
    uint32_t number, phase;

    NamedCondition(const RunningBlock* block_, uint32_t number_, uint32_t phase_)
        : Condition{holds_now, explain_now, name(number_), nullptr}, block(block_), number(number_), phase(phase_) {}

    static const char* name(uint32_t number) {
        static const char* const names[named_barriers] = {
            "bar.sync 0", "bar.sync 1", "bar.sync 2",  "bar.sync 3",  "bar.sync 4",  "bar.sync 5",  "bar.sync 6",  "bar.sync 7",
            "bar.sync 8", "bar.sync 9", "bar.sync 10", "bar.sync 11", "bar.sync 12", "bar.sync 13", "bar.sync 14", "bar.sync 15"};
        return names[number];
    }
    static bool holds_now(const Condition* self) {
        const NamedCondition* const me = static_cast<const NamedCondition*>(self);
        return me->block->named_barriers[me->number].phase != me->phase;
    }
    static void explain_now(const Condition* self, char* out, size_t room) {
        const NamedCondition* const me = static_cast<const NamedCondition*>(self);
        const NamedBarrier& barrier = me->block->named_barriers[me->number];
        snprintf(out, room, "at which %u of %u threads have arrived", barrier.arrived,
                 barrier.threads ? barrier.threads : me->block->thread_count);
    }
};

}  // namespace

void arrive_at_named(Warp* warp, Operation operation, uint32_t lanes) {
    RunningBlock* const block = block_of(warp->lanes);
    Lane* const first = warp->lanes + __builtin_ctz(lanes);
    const uint64_t given = warp->operand[first->number];
    for (uint32_t rest = lanes; rest; rest &= rest - 1) {
        const unsigned i = unsigned(__builtin_ctz(rest));
        if (warp->operand[i] == given) continue;
        stop_at(warp->lanes + i, "lanes of a warp name different barriers or numbers of threads: barrier %u of %u threads and "
                "barrier %u of %u threads in lane %u", uint32_t(warp->operand[i]), uint32_t(warp->operand[i] >> 32),
                uint32_t(given), uint32_t(given >> 32), first->number);
    }
    const uint32_t number = uint32_t(given), threads = uint32_t(given >> 32);
    NamedBarrier& barrier = block->named_barriers[number];
    if (!barrier.warps) {
        barrier.threads = threads;
        barrier.line = first->line;
    } else if (barrier.threads != threads) {
        stop_at(first, "%s names %u threads for barrier %u, but on line %d it has %u", name_of(operation),
                threads ? threads : block->thread_count, number, barrier.line,
                barrier.threads ? barrier.threads : block->thread_count);
    }
    events::named_barrier_arrives(block, number, warp, lanes);
    barrier.warps |= bit(warp->number);
    barrier.arrived += lanes_per_warp;
    if (operation == Operation::bar_sync) barrier.waiting[warp->number] |= lanes;
    for (uint32_t rest = lanes; rest; rest &= rest - 1) warp->result[__builtin_ctz(rest)] = barrier.phase;
    if (is_complete(block, barrier)) complete(block, number);
}

void complete_named_after_exit(RunningBlock* block) {
    for (uint32_t number = 0; number < named_barriers; ++number) {
        const NamedBarrier& barrier = block->named_barriers[number];
        if (barrier.warps && !barrier.threads && is_complete(block, barrier)) complete(block, number);
    }
}

void named_barrier(uint32_t number, const uint32_t* threads, bool waits, int line, const char* file) {
    RunningBlock* const block = block_of(current_lane);
    const char* const name = waits ? "bar.sync" : "bar.arrive";
    if (number >= named_barriers) {
        violation(line, file, "%s: there is no barrier %u, a block has 0 to %u", name, number, named_barriers - 1);
    }
    if (threads && (*threads == 0 || *threads % lanes_per_warp)) {
        violation(line, file, "%s: %u threads; the number must be a multiple of %u and not 0", name, *threads,
                  lanes_per_warp);
    }
    if (block->named_barriers.empty()) {
        const NoEscape no_escape(block->worker);
        block->named_barriers.resize(named_barriers);
    }
    const Operation operation = waits ? Operation::bar_sync : Operation::bar_arrive;
    const uint64_t operand = packed(number, threads ? *threads : 0);
    const uint32_t phase = uint32_t(collective(operation, all_lanes, operand, 0, line, file));
    if (waits) wait_until(NamedCondition(block, number, phase), line, file);
}

}  // namespace simt
