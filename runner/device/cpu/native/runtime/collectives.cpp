#include "collectives.h"

#include "diagnostics.h"
#include "events.h"
#include "named_barrier.h"
#include "scheduler.h"

namespace simt {

namespace {

// Calls `visit(lane number)` for each lane of a set, in order.
template <class Visit>
inline void for_each(uint32_t lanes, Visit visit) {
    for (; lanes; lanes &= lanes - 1) visit(unsigned(__builtin_ctz(lanes)));
}

inline void give_all(Warp* warp, uint32_t lanes, uint64_t value) {
    for_each(lanes, [&](unsigned i) { warp->result[i] = value; });
}

inline void shuffle(Warp* warp, uint32_t lanes) {
    if (lanes == all_lanes) {
        for (unsigned i = 0; i < lanes_per_warp; ++i) warp->result[i] = warp->operand[warp->source[i]];
        return;
    }
    for_each(lanes, [&](unsigned i) {
        const uint32_t source = warp->source[i];
        if (lanes & bit(source)) {
            warp->result[i] = warp->operand[source];
        } else {
            warp->result[i] = undefined_value(current_worker->launch->request.order, i);
            note_undefined_read(warp->lanes + i, source);
        }
    });
}

uint32_t ballot(const Warp* warp, uint32_t lanes) {
    uint32_t votes = 0;
    for_each(lanes, [&](unsigned i) { votes |= uint32_t(warp->operand[i]) << i; });
    return votes;
}

uint32_t lanes_with(const Warp* warp, uint32_t lanes, uint64_t value) {
    uint32_t same = 0;
    for_each(lanes, [&](unsigned i) { same |= warp->operand[i] == value ? bit(i) : 0; });
    return same;
}

void match_any(Warp* warp, uint32_t lanes) {
    for_each(lanes, [&](unsigned i) { warp->result[i] = lanes_with(warp, lanes, warp->operand[i]); });
}

void match_all(Warp* warp, uint32_t lanes) {
    const uint64_t first = warp->operand[__builtin_ctz(lanes)];
    give_all(warp, lanes, lanes_with(warp, lanes, first) == lanes ? lanes : 0);
}

template <class Combine>
void reduce(Warp* warp, uint32_t lanes, Combine combine) {
    uint32_t total = uint32_t(warp->operand[__builtin_ctz(lanes)]);
    for_each(lanes & (lanes - 1), [&](unsigned i) { total = combine(total, uint32_t(warp->operand[i])); });
    give_all(warp, lanes, total);
}

// All of `lanes` have arrived: fills in their results.
inline void resolve(Warp* warp, Operation operation, uint32_t lanes) {
    events::warp_meets(warp, operation, lanes);
    switch (operation) {
        case Operation::shfl_idx:
        case Operation::shfl_up:
        case Operation::shfl_down:
        case Operation::shfl_xor:
            return shuffle(warp, lanes);
        case Operation::syncwarp:
            return;
        case Operation::ballot:
            return give_all(warp, lanes, ballot(warp, lanes));
        case Operation::any:
            return give_all(warp, lanes, ballot(warp, lanes) != 0);
        case Operation::all:
            return give_all(warp, lanes, ballot(warp, lanes) == lanes);
        case Operation::match_any:
            return match_any(warp, lanes);
        case Operation::match_all:
            return match_all(warp, lanes);
        case Operation::reduce_add:
            return reduce(warp, lanes, [](uint32_t a, uint32_t b) { return a + b; });
        case Operation::reduce_min_signed:
            return reduce(warp, lanes, [](uint32_t a, uint32_t b) { return int32_t(b) < int32_t(a) ? b : a; });
        case Operation::reduce_max_signed:
            return reduce(warp, lanes, [](uint32_t a, uint32_t b) { return int32_t(b) > int32_t(a) ? b : a; });
        case Operation::reduce_min_unsigned:
            return reduce(warp, lanes, [](uint32_t a, uint32_t b) { return b < a ? b : a; });
        case Operation::reduce_max_unsigned:
            return reduce(warp, lanes, [](uint32_t a, uint32_t b) { return b > a ? b : a; });
        case Operation::reduce_and:
            return reduce(warp, lanes, [](uint32_t a, uint32_t b) { return a & b; });
        case Operation::reduce_or:
            return reduce(warp, lanes, [](uint32_t a, uint32_t b) { return a | b; });
        case Operation::reduce_xor:
            return reduce(warp, lanes, [](uint32_t a, uint32_t b) { return a ^ b; });
        case Operation::bar_sync:
        case Operation::bar_arrive:
            return arrive_at_named(warp, operation, lanes);
        default:
            return;  // barriers and __activemask do not come here
    }
}

[[noreturn]] void report_mismatch(Lane* lane, Lane* other) {
    const Rendezvous mine = lane->warp->expects[lane->number];
    const Rendezvous theirs = lane->warp->expects[other->number];
    stop_at(lane,
            "lane %u waits in %s(mask=0x%08x), but lane %u, named in that mask, waits in %s(mask=0x%08x) on line %d: "
            "all lanes named in a mask must execute the same intrinsic with the same mask",
            lane->number, name_of(mine), mask_of(mine), other->number, name_of(theirs),
            mask_of(theirs), other->line);
}

// All of `lanes` wait in some collective. Do they all wait for what `lane` waits for? If not, and one of the others
// names `lane` as well, neither can ever go on.
inline bool all_expect_the_same(Warp* warp, Lane* lane, uint32_t lanes) {
    const Rendezvous expected = warp->expects[lane->number];
    if (lanes == all_lanes) {
        Rendezvous difference = 0;
        for (unsigned i = 0; i < lanes_per_warp; ++i) difference |= warp->expects[i] ^ expected;
        if (__builtin_expect(!difference, 1)) return true;
    }
    for (uint32_t rest = lanes; rest; rest &= rest - 1) {
        Lane* const other = warp->lanes + __builtin_ctz(rest);
        const Rendezvous theirs = warp->expects[other->number];
        if (theirs == expected) continue;
        const bool names_me = operation_of(theirs) != Operation::activemask && (mask_of(theirs) & bit(lane->number));
        if (names_me) report_mismatch(lane, other);
        return false;
    }
    return true;
}

}  // namespace

Lane* arrive(Rendezvous expected, uint64_t operand, uint32_t source, int line, const char* file) {
    Lane* const lane = current_lane;
    Warp* const warp = lane->warp;
    RunningBlock* const block = block_of(lane);
    const uint32_t number = lane->number;
    const uint32_t me = bit(number);
    const uint32_t mask = mask_of(expected);

    lane->line = line;
    lane->file = file;
    warp->expects[number] = expected;
    warp->operand[number] = operand;
    warp->source[number] = uint8_t(source);

    if (__builtin_expect(!(mask & me), 0)) {
        if (operation_of(expected) == Operation::activemask) {  // resolved when nothing else can run
            warp->waiting |= me;
            return successor(block, lane);
        }
        stop_at(lane, "lane %u calls %s with mask 0x%08x, which does not name it", number,
                name_of(expected), mask);
    }
    const uint32_t needed = mask & warp->live;
    const bool all_wait = ((warp->waiting | me) & needed) == needed;
    if (all_wait && all_expect_the_same(warp, lane, needed)) {
        // The last to arrive does the work for all, and goes on without a switch.
        resolve(warp, operation_of(expected), needed);
        const uint32_t others = needed & ~me;
        if (others) {
            warp->waiting &= ~others;
            make_ready(block, warp, others);
        }
        return nullptr;
    }
    warp->waiting |= me;
    return successor(block, lane);
}

void complete_after_exit(RunningBlock* block, Lane* gone) {
    Warp* const warp = gone->warp;
    uint32_t seen = 0;
    for (uint32_t rest = warp->waiting; rest; rest &= rest - 1) {
        Lane* const lane = warp->lanes + __builtin_ctz(rest);
        const Rendezvous expected = warp->expects[lane->number];
        const bool names_it = mask_of(expected) & bit(gone->number);  // __activemask names nobody
        if (!names_it || (seen & bit(lane->number))) continue;
        const uint32_t needed = mask_of(expected) & warp->live;
        if ((warp->waiting & needed) == needed && all_expect_the_same(warp, lane, needed)) {
            resolve(warp, operation_of(expected), needed);
            seen |= needed;
            warp->waiting &= ~needed;
            make_ready(block, warp, needed);
        }
    }
}

}  // namespace simt
