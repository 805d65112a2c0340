// cooperative_groups::reduce. Values are combined in the order in which a GPU does it by shuffles, so that floats are
// rounded as there.
#pragma once

#include "../libcu/atomic.h"
#include "groups.h"

namespace cooperative_groups {

#define SIMT_OPERATOR(NAME, EXPRESSION)                                                      \
    template <class Value>                                                                   \
    struct NAME {                                                                            \
        Value operator()(Value left, Value right) const { return EXPRESSION; }               \
    };
SIMT_OPERATOR(plus, Value(left + right))
SIMT_OPERATOR(less, right < left ? right : left)
SIMT_OPERATOR(greater, left < right ? right : left)
SIMT_OPERATOR(bit_and, Value(left& right))
SIMT_OPERATOR(bit_or, Value(left | right))
SIMT_OPERATOR(bit_xor, Value(left ^ right))
#undef SIMT_OPERATOR

namespace details {

template <class Group>
struct IsTileOfWarp : std::false_type {};
template <unsigned size, class Parent>
struct IsTileOfWarp<thread_block_tile<size, Parent>> : std::bool_constant<(size <= 32)> {};

template <class Group>
struct IsTileOfWarps : std::false_type {};
template <unsigned size, class Parent>
struct IsTileOfWarps<thread_block_tile<size, Parent>> : std::bool_constant<(size > 32)> {};

template <class Group>
constexpr bool has_collectives =
    IsTileOfWarp<Group>::value || IsTileOfWarps<Group>::value || std::is_same<Group, coalesced_group>::value;

template <class Group, class Value, class Combine>
constexpr void require_operands() {
    static_assert(has_collectives<Group>, "this takes a tile or a coalesced group");
    static_assert(std::is_same<remove_qual<decltype(std::declval<Combine>()(std::declval<Value>(), std::declval<Value>()))>,
                               Value>::value,
                  "the operator's result must have the type of the value");
}

// Lanes that are next to each other, a power of two of them.
template <class Value, class Combine>
__attribute__((noinline)) inline Value reduce_lanes(uint32_t lanes, unsigned size, Value value, Combine& combine,
                                                    const simt::GroupCall& call) {
    const unsigned lane = simt::current_lane->number;
    for (unsigned mask = size / 2; mask > 0; mask /= 2) {
        value = combine(value, simt::shuffle_from<simt::Operation::shfl_xor>(lanes, value, lane ^ mask, call));
    }
    return value;
}

// Any lanes: each gets what those up to itself give.
template <class Value, class Combine>
__attribute__((noinline)) inline Value scan_lanes(uint32_t lanes, Value value, Combine& combine,
                                                  const simt::GroupCall& call) {
    const unsigned rank = simt::rank_in(lanes), size = unsigned(__builtin_popcount(lanes));
    for (unsigned distance = 1; distance < size; distance *= 2) {
        const unsigned source = simt::lane_of_rank(lanes, distance <= rank ? rank - distance : rank);
        const Value other = simt::shuffle_from<simt::Operation::shfl_idx>(lanes, value, source, call);
        if (distance <= rank) value = combine(value, other);
    }
    return value;
}

// What the lane before in the group has; the first gets its own.
template <class Value>
inline Value from_before(uint32_t lanes, Value value, const simt::GroupCall& call) {
    const unsigned rank = simt::rank_in(lanes);
    return simt::shuffle_from<simt::Operation::shfl_idx>(lanes, value, simt::lane_of_rank(lanes, rank ? rank - 1 : 0),
                                                         call);
}

template <class Group, class Value, class Combine>
inline Value reduce_group(const Group& group, Value value, Combine& combine, const simt::GroupCall& call) {
    if constexpr (IsTileOfWarps<Group>::value) {
        static_assert(sizeof(Value) <= 8, "collectives of tiles of several warps take types of up to 8 bytes");
        constexpr unsigned warps = Group::size() / 32;
        value = reduce_lanes(simt::all_lanes, 32, value, combine, call);
        const uint64_t* const all = simt::exchange(Group::size(), simt::widen(value), "cooperative_groups::reduce",
                                                   call.line, call.file);
        Value of_warp[warps], next[warps];
        for (unsigned w = 0; w < warps; ++w) of_warp[w] = simt::narrow<Value>(all[32 * w]);
        for (unsigned mask = warps / 2; mask > 0; mask /= 2) {
            for (unsigned w = 0; w < warps; ++w) next[w] = combine(of_warp[w], of_warp[w ^ mask]);
            memcpy(of_warp, next, sizeof next);
        }
        return of_warp[group.thread_rank() / 32];
    } else {
        const uint32_t lanes = Inside::lanes(group);
        const unsigned size = unsigned(__builtin_popcount(lanes));
        if (IsTileOfWarp<Group>::value || size == 32) return reduce_lanes(lanes, size, value, combine, call);
        value = scan_lanes(lanes, value, combine, call);
        return simt::shuffle_from<simt::Operation::shfl_idx>(lanes, value, 31u - unsigned(__builtin_clz(lanes)), call);
    }
}

// `*target = combine(*target, value)` in one step. Gives what was there before.
template <class Atomic, class Value, class Combine>
inline Value combine_into(Atomic& target, Value value, Combine& combine) {
    Value before = target.load(cuda::std::memory_order_relaxed);
    while (!target.compare_exchange_weak(before, combine(before, value), cuda::std::memory_order_relaxed)) {
    }
    return before;
}

}  // namespace details

template <class Group, class Given, class Combine>
inline auto reduce(const Group& group, Given&& value, Combine&& combine, SIMT_CALLED_FROM) {
    using Value = details::remove_qual<Given>;
    details::require_operands<Group, Value, Combine>();
    return details::reduce_group(group, Value(value), combine, {simt::Caller::reduce, line, file});
}

template <class Group, class Value, cuda::thread_scope scope, class Given, class Combine>
inline void reduce_update_async(const Group& group, cuda::atomic<Value, scope>& target, Given&& value, Combine&& combine,
                                SIMT_CALLED_FROM) {
    const Value total = reduce(group, std::forward<Given>(value), combine, line, file);
    if (group.thread_rank() == 0) details::combine_into(target, total, combine);
}
template <class Group, class Value, cuda::thread_scope scope, class Given, class Combine>
inline void reduce_update_async(const Group& group, const cuda::atomic_ref<Value, scope>& target, Given&& value,
                                Combine&& combine, SIMT_CALLED_FROM) {
    const Value total = reduce(group, std::forward<Given>(value), combine, line, file);
    if (group.thread_rank() == 0) details::combine_into(target, total, combine);
}
template <class Group, class Value, cuda::thread_scope scope, class Given, class Combine>
inline void reduce_store_async(const Group& group, cuda::atomic<Value, scope>& target, Given&& value, Combine&& combine,
                               SIMT_CALLED_FROM) {
    const Value total = reduce(group, std::forward<Given>(value), combine, line, file);
    if (group.thread_rank() == 0) target.store(total);
}
template <class Group, class Value, cuda::thread_scope scope, class Given, class Combine>
inline void reduce_store_async(const Group& group, const cuda::atomic_ref<Value, scope>& target, Given&& value,
                               Combine&& combine, SIMT_CALLED_FROM) {
    const Value total = reduce(group, std::forward<Given>(value), combine, line, file);
    if (group.thread_rank() == 0) target.store(total);
}
template <class Group, class Value, class Given, class Combine>
inline void reduce_store_async(const Group& group, Value* target, Given&& value, Combine&& combine, SIMT_CALLED_FROM) {
    const Value total = reduce(group, std::forward<Given>(value), combine, line, file);
    if (group.thread_rank() == 0) *target = total;
}

}  // namespace cooperative_groups
