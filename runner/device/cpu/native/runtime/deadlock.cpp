// No lane of the block can run.
#include "diagnostics.h"
#include "scheduler.h"

namespace simt {

namespace {

// Lanes of a warp that stand at the same __activemask() form its result: full reconvergence, as after a simple if/else
// on a GPU. True if there were any.
bool complete_active_masks(RunningBlock* block, Warp* warp) {
    uint32_t asking = 0;
    for (uint32_t rest = warp->waiting; rest; rest &= rest - 1) {
        const unsigned lane = unsigned(__builtin_ctz(rest));
        if (operation_of(warp->expects[lane]) == Operation::activemask) asking |= bit(lane);
    }
    for (uint32_t rest = asking; rest;) {
        const uint64_t call = warp->operand[__builtin_ctz(rest)];
        uint32_t together = 0;
        for (uint32_t others = rest; others; others &= others - 1) {
            const unsigned lane = unsigned(__builtin_ctz(others));
            if (warp->operand[lane] == call) together |= bit(lane);
        }
        for (uint32_t group = together; group; group &= group - 1) warp->result[__builtin_ctz(group)] = together;
        rest &= ~together;
    }
    if (!asking) return false;
    warp->waiting &= ~asking;
    make_ready(block, warp, asking);
    return true;
}

uint32_t lanes_expecting(const Warp& warp, Rendezvous expected) {
    uint32_t lanes = 0;
    for (uint32_t rest = warp.waiting; rest; rest &= rest - 1) {
        const unsigned lane = unsigned(__builtin_ctz(rest));
        if (warp.expects[lane] == expected) lanes |= bit(lane);
    }
    return lanes;
}

void describe_wait(Text& text, const RunningBlock& block, const Lane& lane, const char* who) {
    const Warp& warp = *lane.warp;
    if (warp.at_barrier & bit(lane.number)) {
        text.add("%s at %s on line %d", who, name_of(lane.barrier), lane.line);
    } else if (warp.waiting & bit(lane.number)) {
        const Rendezvous expected = warp.expects[lane.number];
        text.add("%s in %s(mask=0x%08x) on line %d", who, name_of(expected), mask_of(expected), lane.line);
    } else if (warp.on_condition & bit(lane.number)) {
        text.add("%s in %s on line %d", who, block.conditions[&lane - block.lanes]->name, lane.line);
    }
}

[[noreturn]] void report_collective(const RunningBlock* block, const Warp& warp) {
    const Lane& lane = warp.lanes[__builtin_ctz(warp.waiting)];
    const Rendezvous expected = warp.expects[lane.number];
    const uint32_t together = lanes_expecting(warp, expected);
    const uint32_t missing = mask_of(expected) & warp.live & ~together;
    char message[1024];
    Text text(message, sizeof message);
    text.add_position(lane.file, lane.line).add("deadlock: ").add_lanes(together);
    text.add(" of warp %u wait%s in %s(mask=0x%08x), which also names ", warp.number,
             __builtin_popcount(together) == 1 ? "s" : "", name_of(expected), mask_of(expected));
    text.add_lanes(missing).add("; ");
    describe_wait(text, *block, warp.lanes[__builtin_ctz(missing ? missing : together)], "these wait");
    text.add_block(*block);
    stop(block->worker, message);
}

// The first of them, how many wait at the same line, and where the others are that may be missing.
[[noreturn]] void report_condition(const RunningBlock* block, const Lane& lane, const Condition* condition) {
    unsigned together = 0;
    const Lane* other = nullptr;
    for (unsigned t = 0; t < block->thread_count; ++t) {
        const Lane& one = block->lanes[t];
        const bool waits = one.warp->on_condition & bit(one.number);
        if (waits && one.line == lane.line && block->conditions[t]->name == condition->name) {
            ++together;
        } else if (!other && (one.warp->live & bit(one.number))) {
            other = &one;
        }
    }
    char reason[256] = "";
    if (condition->explain) condition->explain(condition, reason, sizeof reason);
    char message[1024];
    Text text(message, sizeof message);
    text.add_position(lane.file, lane.line);
    text.add("deadlock: %u thread%s wait%s in %s, %s", together, together == 1 ? "" : "s", together == 1 ? "s" : "",
             condition->name, reason);
    if (other) {
        const uint3& t = other->thread_index;
        text.add("; thread (%u,%u,%u)", t.x, t.y, t.z);
        describe_wait(text, *block, *other, " waits");
    }
    text.add_block(*block);
    stop(block->worker, message);
}

}  // namespace

void report_deadlock(RunningBlock* block) {
    for (unsigned w = 0; w < block->warp_count; ++w) {
        if (block->warps[w].waiting) report_collective(block, block->warps[w]);
    }
    for (unsigned t = 0; t < block->thread_count; ++t) {
        const Lane& lane = block->lanes[t];
        if (lane.warp->on_condition & bit(lane.number)) report_condition(block, lane, block->conditions[t]);
    }
    // Cannot happen: a barrier at which all live threads wait has been released.
    char message[128];
    Text(message, sizeof message)
        .add("deadlock: %u of %u threads wait at a barrier", block->at_barrier, block->live)
        .add_block(*block);
    stop(block->worker, message);
}

Lane* unblock(RunningBlock* block) {
    for (unsigned w = 0; w < block->warp_count; ++w) {
        if (complete_active_masks(block, &block->warps[w])) return nullptr;
    }
    if (block->worker->launch->resident) return &block->worker->outside;  // and wakes lanes later
    if (!wake(block)) report_deadlock(block);
    return nullptr;
}

}  // namespace simt
