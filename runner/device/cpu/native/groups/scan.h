// cooperative_groups::inclusive_scan and exclusive_scan, in the order of a GPU's shuffles.
#pragma once

#include "reduce.h"

namespace cooperative_groups {

namespace details {

// What the threads before this one give, from what they give with this one. The first thread gets a value of zeros.
template <class Value, class Combine>
inline Value without_mine(uint32_t lanes, Value inclusive, Value mine, const simt::GroupCall& call) {
    if constexpr (std::is_integral<Value>::value && std::is_same<remove_qual<Combine>, plus<Value>>::value) {
        return Value(inclusive - mine);
    } else {
        const Value before = from_before(lanes, inclusive, call);
        return simt::rank_in(lanes) == 0 ? Value{} : before;
    }
}

template <bool inclusive, class Group, class Value, class Combine>
inline Value scan_group(const Group& group, Value value, Combine& combine, const simt::GroupCall& call) {
    if constexpr (IsTileOfWarps<Group>::value) {
        static_assert(sizeof(Value) <= 8, "collectives of tiles of several warps take types of up to 8 bytes");
        constexpr unsigned warps = Group::size() / 32;
        const unsigned warp = group.thread_rank() / 32, lane = simt::current_lane->number;
        const Value up_to_me = scan_lanes(simt::all_lanes, value, combine, call);
        const char* const name = inclusive ? "cooperative_groups::inclusive_scan" : "cooperative_groups::exclusive_scan";
        const uint64_t* const all = simt::exchange(Group::size(), simt::widen(up_to_me), name, call.line, call.file);
        Value of_warp[warps], next[warps];
        for (unsigned w = 0; w < warps; ++w) of_warp[w] = simt::narrow<Value>(all[32 * w + 31]);
        for (unsigned distance = 1; distance < warps; distance *= 2) {
            for (unsigned w = 0; w < warps; ++w) {
                next[w] = w >= distance ? combine(of_warp[w], of_warp[w - distance]) : of_warp[w];
            }
            memcpy(of_warp, next, sizeof next);
        }
        const Value in_warp = inclusive || lane == 0 ? up_to_me : simt::narrow<Value>(all[group.thread_rank() - 1]);
        if (!inclusive && lane == 0) return warp == 0 ? Value{} : of_warp[warp - 1];
        return warp == 0 ? in_warp : combine(in_warp, of_warp[warp - 1]);
    } else {
        const uint32_t lanes = Inside::lanes(group);
        const Value scanned = scan_lanes(lanes, value, combine, call);
        if constexpr (inclusive) {
            return scanned;
        } else {
            return without_mine<Value, Combine>(lanes, scanned, value, call);
        }
    }
}

// A scan that begins with what the atomic has, and leaves the total there.
template <bool inclusive, class Group, class Atomic, class Value, class Combine>
inline Value scan_update(const Group& group, Atomic& target, Value value, Combine& combine, const simt::GroupCall& call) {
    const Value up_to_me = scan_group<true>(group, value, combine, call);
    const Value before_me = scan_group<false>(group, value, combine, call);
    const unsigned last = group.size() - 1;
    Value old{};
    if (group.thread_rank() == last) old = combine_into(target, up_to_me, combine);
    old = group.shfl(old, int(last), call.line, call.file);
    if (inclusive) return combine(old, up_to_me);
    return group.thread_rank() == 0 ? old : combine(old, before_me);
}

}  // namespace details

#define SIMT_SCAN(NAME, INCLUSIVE)                                                                                \
    template <class Group, class Given, class Combine>                                                            \
    inline details::remove_qual<Given> NAME(const Group& group, Given&& value, Combine&& combine, SIMT_CALLED_FROM) { \
        using Value = details::remove_qual<Given>;                                                                \
        details::require_operands<Group, Value, Combine>();                                                       \
        return details::scan_group<INCLUSIVE>(group, Value(value), combine, {simt::Caller::NAME, line, file});    \
    }                                                                                                             \
    template <class Group, class Given>                                                                           \
    inline details::remove_qual<Given> NAME(const Group& group, Given&& value, SIMT_CALLED_FROM) {                \
        return NAME(group, std::forward<Given>(value), plus<details::remove_qual<Given>>(), line, file);          \
    }
#define SIMT_SCAN_UPDATE(NAME, ATOMIC, INCLUSIVE)                                                                  \
    template <class Group, class Value, cuda::thread_scope scope, class Given, class Combine>                     \
    inline Value NAME##_update(const Group& group, ATOMIC<Value, scope>& target, Given&& value, Combine&& combine, \
                               SIMT_CALLED_FROM) {                                                                \
        details::require_operands<Group, Value, Combine>();                                                       \
        return details::scan_update<INCLUSIVE>(group, target, Value(value), combine,                              \
                                               {simt::Caller::NAME, line, file});                                 \
    }                                                                                                             \
    template <class Group, class Value, cuda::thread_scope scope, class Given>                                    \
    inline Value NAME##_update(const Group& group, ATOMIC<Value, scope>& target, Given&& value, SIMT_CALLED_FROM) { \
        return NAME##_update(group, target, std::forward<Given>(value), plus<Value>(), line, file);               \
    }
SIMT_SCAN(inclusive_scan, true)
SIMT_SCAN(exclusive_scan, false)
SIMT_SCAN_UPDATE(inclusive_scan, cuda::atomic, true)
SIMT_SCAN_UPDATE(exclusive_scan, cuda::atomic, false)
SIMT_SCAN_UPDATE(inclusive_scan, const cuda::atomic_ref, true)
SIMT_SCAN_UPDATE(exclusive_scan, const cuda::atomic_ref, false)
#undef SIMT_SCAN
#undef SIMT_SCAN_UPDATE

}  // namespace cooperative_groups
