#include "barrier.h"

#include <string.h>

#include "diagnostics.h"
#include "events.h"
#include "scheduler.h"

namespace simt {

namespace {

bool same_file(const char* a, const char* b) { return a == b || strcmp(a, b) == 0; }

void refuse_divergence(RunningBlock* block) {
    const BarrierState& first = block->gathering;
    for (unsigned w = 0; w < block->warp_count; ++w) {
        for (uint32_t rest = block->warps[w].at_barrier; rest; rest &= rest - 1) {
            Lane* const lane = block->warps[w].lanes + __builtin_ctz(rest);
            const bool same_call = lane->line == first.line && same_file(lane->file, first.file);
            if (same_call && lane->barrier == first.operation) continue;
            stop_at(lane,
                    "barrier divergence: this thread waits at %s on line %d while other threads of the block wait at "
                    "%s on line %d",
                    name_of(lane->barrier), lane->line, name_of(first.operation), first.line);
        }
    }
}

// The block's first thread does that for all of them, on a GPU.
void arrive_at_grid(RunningBlock* block) {
    if (!(block->warps[0].live & 1)) {
        for (unsigned t = 0; t < block->thread_count; ++t) {
            Lane* const lane = &block->lanes[t];
            if (!(lane->warp->live & bit(lane->number))) continue;
            stop_at(lane, "grid_group::sync without the first thread of the block, which has returned");
        }
    }
    Grid& grid = block->worker->grid;
    block->grid_phase = grid.phase;
    if (++grid.arrived == block->worker->launch->block_count) {
        grid.arrived = 0;
        ++grid.phase;
        events::grid_barrier(block);
    }
}

}  // namespace

void release_barrier(RunningBlock* block) {
    BarrierState& barrier = block->gathering;
    if (__builtin_expect(barrier.differs, 0)) refuse_divergence(block);
    if (has_shared_guards(block->worker)) check_zones(block, barrier.file, barrier.line);
    events::barrier(block);
    if (barrier.operation == Operation::barrier_of_grid) arrive_at_grid(block);
    barrier.true_at_release = barrier.true_so_far;
    barrier.live_at_release = block->live;
    for (unsigned w = 0; w < block->warp_count; ++w) {
        Warp& warp = block->warps[w];
        if (!warp.at_barrier) continue;
        make_ready(block, &warp, warp.at_barrier);
        warp.at_barrier = 0;
    }
    block->at_barrier = 0;
}

Lane* arrive_at_barrier(Operation operation, bool predicate, int line, const char* file) {
    Lane* const lane = current_lane;
    Warp* const warp = lane->warp;
    RunningBlock* const block = block_of(lane);
    BarrierState& barrier = block->gathering;
    if (block->at_barrier == 0) {
        barrier.operation = operation;
        barrier.file = file;
        barrier.line = line;
        barrier.differs = false;
        barrier.true_so_far = 0;
    }
    lane->barrier = operation;
    lane->line = line;
    lane->file = file;
    barrier.true_so_far += predicate;
    barrier.differs |= line != barrier.line || operation != barrier.operation || file != barrier.file;
    warp->at_barrier |= bit(lane->number);
    if (++block->at_barrier != block->live) return successor(block, lane);
    release_barrier(block);
    warp->ready &= ~bit(lane->number);
    return nullptr;
}

// Nobody can release the next barrier before every thread has left this one, so the result stays until all have it.
int barrier_result(Operation operation) {
    const BarrierState& barrier = block_of(current_lane)->gathering;
    switch (operation) {
        case Operation::barrier_count: return int(barrier.true_at_release);
        case Operation::barrier_and: return barrier.true_at_release == barrier.live_at_release;
        default: return barrier.true_at_release != 0;
    }
}

}  // namespace simt
