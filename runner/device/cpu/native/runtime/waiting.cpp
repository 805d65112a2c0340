// Waiting for what other threads bring about by writing to memory, and what is built on it: barriers of the grid, and
// groups of several warps.
#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "../simt/suspend.h"
#include "diagnostics.h"
#include "events.h"
#include "scheduler.h"

namespace simt {

namespace {

constexpr unsigned spins_before_yield = 64;

struct GridCondition : Condition {
    const Worker* worker;
    uint32_t phase;

    GridCondition(const Worker* worker_, uint32_t phase_)
        : Condition{holds_now, explain_now, "grid_group::sync", nullptr}, worker(worker_), phase(phase_) {}

    static bool holds_now(const Condition* self) {
        const GridCondition* const me = static_cast<const GridCondition*>(self);
        return me->worker->grid.phase != me->phase;
    }

    static void explain_now(const Condition* self, char* out, size_t room) {
        const Worker* const worker = static_cast<const GridCondition*>(self)->worker;
        const uint64_t count = worker->launch->block_count;
        Text text(out, room);
        text.add("at which %u of %llu blocks have arrived", worker->grid.arrived, (unsigned long long)count);
        for (uint64_t n = 0; n < count; ++n) {
            const RunningBlock& block = *worker->further[n];
            if (block.live) continue;
            text.add("; block (%u,%u,%u) has returned", block.index.x, block.index.y, block.index.z);
            return;
        }
    }
};

struct TeamCondition : Condition {
    const Team* team;
    uint32_t phase;

    TeamCondition(const Team* team_, const char* name_)
        : Condition{holds_now, explain_now, name_, nullptr}, team(team_), phase(team_->phase) {}

    static bool holds_now(const Condition* self) {
        const TeamCondition* const me = static_cast<const TeamCondition*>(self);
        return me->team->phase != me->phase;
    }

    static void explain_now(const Condition* self, char* out, size_t room) {
        const Team* const team = static_cast<const TeamCondition*>(self)->team;
        snprintf(out, room, "at which %u of the group's %u threads have arrived", team->arrived, team->size);
    }
};

// Holds as soon as it is looked at, which is when no other lane can run.
const Condition others_had_their_turn = {[](const Condition*) { return true; }, nullptr, "", nullptr};

// The group of `size` threads that the current one belongs to. Groups of all sizes are in one row: 16 of two warps,
// 8 of four, 4 of eight, 2 of sixteen, and the block.
Team& team_of(RunningBlock* block, unsigned size, unsigned thread) {
    const NoEscape no_escape(block->worker);
    if (block->teams.empty()) block->teams.resize(31);
    unsigned first = 0;
    for (unsigned smaller = 2 * lanes_per_warp; smaller < size; smaller *= 2) first += max_threads / smaller;
    Team& team = block->teams[first + thread / size];
    if (team.values.empty()) team.values.resize(2 * size);
    team.size = size;
    return team;
}

bool can_others_change(const RunningBlock* block, const Condition* condition) {
    return !block->worker->launch->resident && condition->address && !is_shared(condition->address);
}

}  // namespace

Lane* wait_for(const Condition* condition, int line, const char* file) {
    Lane* const lane = current_lane;
    RunningBlock* const block = block_of(lane);
    if (file) {
        lane->line = line;
        lane->file = file;
    }
    block->conditions[lane - block->lanes] = condition;
    lane->warp->on_condition |= bit(lane->number);
    return successor(block, lane);
}

bool wake(RunningBlock* block) {
    bool any = false;
    bool others_may_help = false;
    const events::Unwatched unwatched(block);  // a lane that waits looks itself, too
    for (unsigned w = 0; w < block->warp_count; ++w) {
        Warp& warp = block->warps[w];
        uint32_t woken = 0;
        for (uint32_t rest = warp.on_condition; rest; rest &= rest - 1) {
            const unsigned lane = unsigned(__builtin_ctz(rest));
            const Condition* const condition = block->conditions[w * lanes_per_warp + lane];
            if (condition->holds(condition)) woken |= bit(lane);
            others_may_help |= can_others_change(block, condition);
        }
        if (!woken) continue;
        warp.on_condition &= ~woken;
        make_ready(block, &warp, woken);
        any = true;
    }
    if (!any && others_may_help) {  // a block on another OS thread: look again until the time limit
        sched_yield();
        return true;
    }
    return any;
}

void yield(int line, const char* file) {
    if (Lane* next = wait_for(&others_had_their_turn, line, file)) hand_over_to(next);
}

void maybe_spinning(int line, const char* file) {
    Worker* const worker = current_worker;
    if (++worker->spins % spins_before_yield == 0) yield(line, file);
}

bool is_shared(const void* address) {
    const Worker* const worker = current_worker;
    const RunningBlock* const block = block_of(current_lane);
    const unsigned char* const at = static_cast<const unsigned char*>(address);
    if (block->dynamic_shared_memory.guards(reinterpret_cast<uintptr_t>(address))) return true;
    return worker->static_shared_bytes && at >= worker->static_shared &&
           at < worker->static_shared + worker->static_shared_bytes;
}

bool is_cooperative() { return current_worker->launch->request.cooperative; }

uint32_t arrive_at_grid(int line, const char* file) {
    if (!is_cooperative()) {
        violation(line, file,
                  "grid_group::sync in a launch that is not cooperative: set 'cooperative: true' in the kernel's YAML");
    }
    barrier(Operation::barrier_of_grid, false, line, file);
    return block_of(current_lane)->grid_phase;
}

void wait_for_grid(uint32_t phase, int line, const char* file) {
    wait_until(GridCondition(current_worker, phase), line, file);
}

// Two rows of values take turns: a fast thread may arrive again while a slow one still reads, but not twice.
const uint64_t* exchange(unsigned size, uint64_t value, const char* name, int line, const char* file) {
    Lane* const lane = current_lane;
    RunningBlock* const block = block_of(lane);
    const unsigned thread = unsigned(lane - block->lanes);
    Team& team = team_of(block, size, thread);
    if (team.arrived && strcmp(team.name, name) != 0) {
        violation(line, file, "this thread calls %s while others of its group wait in %s on line %d", name, team.name,
                  team.line);
    }
    team.name = name;
    team.line = line;
    const TeamCondition released(&team, name);
    uint64_t* const values = team.values.data() + team.phase % 2 * size;
    values[thread % size] = value;
    if (++team.arrived == size) {
        team.arrived = 0;
        ++team.phase;
        events::team_meets(block, thread / size * size, size);
    }
    wait_until(released, line, file);
    return values;
}

}  // namespace simt
