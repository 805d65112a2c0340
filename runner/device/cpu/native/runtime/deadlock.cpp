// No lane of the block can run.
#include "diagnostics.h"
#include "scheduler.h"

namespace simt {

namespace {

// Lanes of a warp that stand at the same __activemask() form its result: full reconvergence, as after a simple if/else
// on a GPU. True if there were any.
bool complete_active_masks(Worker* worker, Warp* warp) {
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
    make_ready(worker, warp, asking);
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

void describe_wait(Text& text, const Warp& warp, const Lane& lane) {
    if (warp.at_barrier & bit(lane.number)) {
        text.add("these wait at %s on line %d", name_of(lane.barrier), lane.line);
    } else if (warp.waiting & bit(lane.number)) {
        const Rendezvous expected = warp.expects[lane.number];
        text.add("these wait in %s(mask=0x%08x) on line %d", name_of(operation_of(expected)), mask_of(expected),
                 lane.line);
    }
}

[[noreturn]] void report_deadlock(Worker* worker, const Warp& warp) {
    const Lane& lane = warp.lanes[__builtin_ctz(warp.waiting)];
    const Rendezvous expected = warp.expects[lane.number];
    const uint32_t together = lanes_expecting(warp, expected);
    const uint32_t missing = mask_of(expected) & warp.live & ~together;
    char message[1024];
    Text text(message, sizeof message);
    text.add_position(lane.file, lane.line).add("deadlock: ").add_lanes(together);
    text.add(" of warp %u wait%s in %s(mask=0x%08x), which also names ", warp.number,
             __builtin_popcount(together) == 1 ? "s" : "", name_of(operation_of(expected)), mask_of(expected));
    text.add_lanes(missing).add("; ");
    describe_wait(text, warp, warp.lanes[__builtin_ctz(missing ? missing : together)]);
    text.add_block(*worker);
    stop(worker, message);
}

}  // namespace

void unblock(Worker* worker) {
    for (unsigned w = 0; w < worker->warp_count; ++w) {
        if (complete_active_masks(worker, &worker->warps[w])) return;
    }
    for (unsigned w = 0; w < worker->warp_count; ++w) {
        if (worker->warps[w].waiting) report_deadlock(worker, worker->warps[w]);
    }
    // Cannot happen: a barrier at which all live threads wait has been released.
    char message[128];
    Text(message, sizeof message)
        .add("deadlock: %u of %u threads wait at a barrier", worker->at_barrier, worker->live)
        .add_block(*worker);
    stop(worker, message);
}

}  // namespace simt
