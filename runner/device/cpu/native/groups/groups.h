// CUDA's cooperative groups. A group of at most 32 threads is a set of lanes of one warp; larger tiles exchange values
// through the runtime.
#pragma once

#include "warp.h"

namespace cooperative_groups {

namespace details {
constexpr unsigned coalesced_group_id = 1;
constexpr unsigned grid_group_id = 3;
constexpr unsigned thread_block_id = 4;
constexpr unsigned multi_tile_group_id = 5;

template <class Given>
using remove_qual = std::remove_cv_t<std::remove_reference_t<Given>>;

// Access to what user code cannot see.
struct Inside {
    template <class Group>
    static uint32_t lanes(const Group& group) { return group.lanes(); }
    template <class Group>
    static Group of_lanes(uint32_t lanes, unsigned rank, unsigned count) { return Group(lanes, rank, count); }
};

inline void require_tile_size(unsigned size, int line, const char* file) {
    if (simt::is_power_of_two(size) && size <= 32) return;
    simt::violation(line, file, "tiled_partition: %u is not a power of two from 1 to 32", size);
}
}  // namespace details

class thread_block;
class coalesced_group;
class grid_group;

// Any group, of which it is known at run time what it is.
class thread_group {
public:
    unsigned long long size() const;
    unsigned long long num_threads() const { return size(); }
    unsigned long long thread_rank() const;
    void sync(SIMT_CALLED_FROM) const;
    unsigned get_type() const { return type_; }

protected:
    explicit thread_group(unsigned type) : type_(type) {}

    unsigned type_;
    uint32_t lanes_ = 0;
    unsigned meta_rank_ = 0;
    unsigned meta_size_ = 1;
    bool is_tile_ = false;

    friend thread_group tiled_partition(const thread_group&, unsigned, int, const char*);
    friend thread_group tiled_partition(const thread_block&, unsigned, int, const char*);
};

// ---- The grid ----

class grid_group : public thread_group {
public:
    using arrival_token = unsigned;
    static constexpr unsigned _group_id = details::grid_group_id;

    bool is_valid() const { return simt::is_cooperative(); }
    void sync(SIMT_CALLED_FROM) const { simt::wait_for_grid(simt::arrive_at_grid(line, file), line, file); }
    arrival_token barrier_arrive(SIMT_CALLED_FROM) const { return simt::arrive_at_grid(line, file); }
    void barrier_wait(arrival_token&& token, SIMT_CALLED_FROM) const { simt::wait_for_grid(token, line, file); }

    static dim3 dim_blocks() { return simt::grid_size(); }
    static dim3 group_dim() { return simt::grid_size(); }
    static dim3 block_index() { return simt::block_index(); }
    static unsigned long long num_blocks() { return simt::grid_size().volume(); }
    static unsigned long long block_rank() {
        const uint3& at = simt::block_index();
        const dim3& size = simt::grid_size();
        return (1ull * at.z * size.y + at.y) * size.x + at.x;
    }
    static dim3 dim_threads() {
        const dim3 &blocks = simt::grid_size(), &threads = simt::block_size();
        return dim3(blocks.x * threads.x, blocks.y * threads.y, blocks.z * threads.z);
    }
    static dim3 thread_index() {
        const uint3 &block = simt::block_index(), &thread = simt::thread_index();
        const dim3& size = simt::block_size();
        return dim3(block.x * size.x + thread.x, block.y * size.y + thread.y, block.z * size.z + thread.z);
    }
    static unsigned long long num_threads() { return num_blocks() * simt::block_size().volume(); }
    static unsigned long long size() { return num_threads(); }
    static unsigned long long thread_rank() {
        return block_rank() * simt::block_size().volume() + simt::thread_in_block();
    }

private:
    grid_group() : thread_group(_group_id) {}
    friend grid_group this_grid();
};

inline grid_group this_grid() { return grid_group(); }

class cluster_group;
SIMT_NOT_HERE("clusters of blocks are not there" SIMT_GPU_ONLY) cluster_group& this_cluster();

// ---- The block ----

// A GPU before sm_80 keeps there what the threads of a tile of several warps exchange.
template <unsigned most_threads = 1024>
struct alignas(8) block_tile_memory {
    char unused;
};

class thread_block : public thread_group {
public:
    struct arrival_token {};
    static constexpr unsigned _group_id = details::thread_block_id;

    static void sync(SIMT_CALLED_FROM) { simt::barrier(simt::Operation::barrier_of_group, false, line, file); }
    arrival_token barrier_arrive() const { return {}; }
    void barrier_wait(arrival_token&&, SIMT_CALLED_FROM) const { sync(line, file); }

    static unsigned size() { return simt::threads_of_block(); }
    static unsigned num_threads() { return simt::threads_of_block(); }
    static unsigned thread_rank() { return simt::thread_in_block(); }
    static dim3 group_index() { return simt::block_index(); }
    static dim3 thread_index() { return simt::thread_index(); }
    static dim3 group_dim() { return simt::block_size(); }
    static dim3 dim_threads() { return simt::block_size(); }

private:
    thread_block() : thread_group(_group_id) {}
    friend thread_block this_thread_block();
    template <unsigned most_threads>
    friend thread_block this_thread_block(block_tile_memory<most_threads>&);
};

inline thread_block this_thread_block() { return thread_block(); }
template <unsigned most_threads>
inline thread_block this_thread_block(block_tile_memory<most_threads>&) {
    return thread_block();
}

// ---- Threads of a warp ----

class coalesced_group : public thread_group {
public:
    static constexpr unsigned _group_id = details::coalesced_group_id;

    unsigned size() const { return unsigned(__builtin_popcount(lanes_)); }
    unsigned num_threads() const { return size(); }
    unsigned thread_rank() const { return simt::rank_in(lanes_); }
    unsigned meta_group_rank() const { return meta_rank_; }
    unsigned meta_group_size() const { return meta_size_; }
    void sync(SIMT_CALLED_FROM) const { vote<simt::Operation::syncwarp>(0, line, file); }

    template <class Value>
    Value shfl(Value value, int rank, SIMT_CALLED_FROM) const {
        if (unsigned(rank) >= size()) {
            simt::violation(line, file, "group.shfl: there is no thread of rank %d in a group of %u", rank, size());
        }
        return from(value, simt::lane_of_rank(lanes_, unsigned(rank)), {simt::Caller::group, line, file});
    }
    template <class Value>
    Value shfl_up(Value value, unsigned delta, SIMT_CALLED_FROM) const {
        const unsigned rank = thread_rank();
        return at_rank(value, delta <= rank ? rank - delta : rank, {simt::Caller::group, line, file});
    }
    template <class Value>
    Value shfl_down(Value value, unsigned delta, SIMT_CALLED_FROM) const {
        const unsigned rank = thread_rank();
        return at_rank(value, delta < size() - rank ? rank + delta : rank, {simt::Caller::group, line, file});
    }
    int any(int predicate, SIMT_CALLED_FROM) const { return int(vote<simt::Operation::any>(predicate != 0, line, file)); }
    int all(int predicate, SIMT_CALLED_FROM) const { return int(vote<simt::Operation::all>(predicate != 0, line, file)); }
    unsigned ballot(int predicate, SIMT_CALLED_FROM) const {
        return simt::by_rank(lanes_, uint32_t(vote<simt::Operation::ballot>(predicate != 0, line, file)));
    }
    template <class Value>
    unsigned match_any(Value value, SIMT_CALLED_FROM) const {
        return simt::by_rank(lanes_, uint32_t(vote<simt::Operation::match_any>(simt::widen(value), line, file)));
    }
    template <class Value>
    unsigned match_all(Value value, int& predicate, SIMT_CALLED_FROM) const {
        const uint32_t found = uint32_t(vote<simt::Operation::match_all>(simt::widen(value), line, file));
        predicate = found != 0;
        return simt::by_rank(lanes_, found);
    }

private:
    friend details::Inside;
    friend class thread_group;

    coalesced_group(uint32_t lanes, unsigned rank, unsigned count, bool is_tile = false) : thread_group(_group_id) {
        lanes_ = lanes;
        meta_rank_ = rank;
        meta_size_ = count;
        is_tile_ = is_tile;
    }
    friend coalesced_group tiled_partition(const coalesced_group&, unsigned, int, const char*);

    uint32_t lanes() const { return lanes_; }

    template <simt::Operation operation>
    uint64_t vote(uint64_t operand, int line, const char* file) const {
        return simt::vote_of(lanes_, operation, operand, {simt::Caller::group, line, file});
    }
    template <class Value>
    Value from(Value value, unsigned lane, const simt::GroupCall& call) const {
        return simt::shuffle_from<simt::Operation::shfl_idx>(lanes_, value, lane, call);
    }
    template <class Value>
    Value at_rank(Value value, unsigned rank, const simt::GroupCall& call) const {
        return from(value, simt::lane_of_rank(lanes_, rank), call);
    }
};

inline coalesced_group coalesced_threads(unsigned call, SIMT_CALLED_FROM) {
    return details::Inside::of_lanes<coalesced_group>(simt::activemask(call, line, file), 0, 1);
}
// Threads that stand at the same call are together. A line can have two calls, so each gets a number.
#define coalesced_threads() coalesced_threads(__COUNTER__)

// ---- Tiles of a size that is known when the kernel is compiled ----

template <unsigned tile_size, class Parent = void>
class thread_block_tile;

namespace details {

template <unsigned tile_size>
struct TileSize {
    static_assert(simt::is_power_of_two(tile_size) && tile_size <= 1024,
                  "the size of a tile is a power of two from 1 to 1024");

    static constexpr unsigned num_threads() { return tile_size; }
    static constexpr unsigned size() { return tile_size; }
    static unsigned thread_rank() { return simt::thread_in_block() & (tile_size - 1); }
};

// At most a warp.
template <unsigned tile_size, bool is_large = (tile_size > 32)>
class Tile : public TileSize<tile_size> {
public:
    static constexpr unsigned _group_id = coalesced_group_id;

    static void sync(SIMT_CALLED_FROM) { vote<simt::Operation::syncwarp>(0, line, file); }

    template <class Value>
    Value shfl(Value value, int rank, SIMT_CALLED_FROM) const {
        return shuffle<simt::Operation::shfl_idx>(value, uint32_t(rank), line, file);
    }
    template <class Value>
    Value shfl_up(Value value, unsigned delta, SIMT_CALLED_FROM) const {
        return shuffle<simt::Operation::shfl_up>(value, delta, line, file);
    }
    template <class Value>
    Value shfl_down(Value value, unsigned delta, SIMT_CALLED_FROM) const {
        return shuffle<simt::Operation::shfl_down>(value, delta, line, file);
    }
    template <class Value>
    Value shfl_xor(Value value, unsigned mask, SIMT_CALLED_FROM) const {
        return shuffle<simt::Operation::shfl_xor>(value, mask, line, file);
    }
    int any(int predicate, SIMT_CALLED_FROM) const { return int(vote<simt::Operation::any>(predicate != 0, line, file)); }
    int all(int predicate, SIMT_CALLED_FROM) const { return int(vote<simt::Operation::all>(predicate != 0, line, file)); }
    unsigned ballot(int predicate, SIMT_CALLED_FROM) const {
        return uint32_t(vote<simt::Operation::ballot>(predicate != 0, line, file)) >> first();
    }
    template <class Value>
    unsigned match_any(Value value, SIMT_CALLED_FROM) const {
        return uint32_t(vote<simt::Operation::match_any>(simt::widen(value), line, file)) >> first();
    }
    template <class Value>
    unsigned match_all(Value value, int& predicate, SIMT_CALLED_FROM) const {
        const uint32_t found = uint32_t(vote<simt::Operation::match_all>(simt::widen(value), line, file));
        predicate = found != 0;
        return found >> first();
    }

protected:
    friend Inside;

    static unsigned first() { return simt::current_lane->number & ~(tile_size - 1); }
    static uint32_t lanes() { return simt::lowest(tile_size) << first(); }

private:
    template <simt::Operation operation>
    static uint64_t vote(uint64_t operand, int line, const char* file) {
        return simt::vote_of(lanes(), operation, operand, {simt::Caller::group, line, file});
    }
    template <simt::Operation kind, class Value>
    static Value shuffle(Value value, uint32_t argument, int line, const char* file) {
        const uint32_t source = simt::source_lane<kind>(argument, int(tile_size));
        return simt::shuffle_from<kind>(lanes(), value, source, {simt::Caller::group, line, file});
    }
};

// Several warps: without shfl_up and the like, and for types of up to 8 bytes, as on a GPU.
template <unsigned tile_size>
class Tile<tile_size, true> : public TileSize<tile_size> {
public:
    static constexpr unsigned _group_id = multi_tile_group_id;

    void sync(SIMT_CALLED_FROM) const { simt::exchange(tile_size, 0, "group.sync", line, file); }
    template <class Value>
    Value shfl(Value value, unsigned rank, SIMT_CALLED_FROM) const {
        return simt::narrow<Value>(gather(value, "group.shfl", line, file)[rank % tile_size]);
    }
    int any(int predicate, SIMT_CALLED_FROM) const { return count(predicate, "group.any", line, file) != 0; }
    int all(int predicate, SIMT_CALLED_FROM) const { return count(predicate, "group.all", line, file) == tile_size; }

private:
    friend Inside;

    template <class Value>
    static const uint64_t* gather(Value value, const char* name, int line, const char* file) {
        static_assert(sizeof(Value) <= 8, "collectives of tiles of several warps take types of up to 8 bytes");
        return simt::exchange(tile_size, simt::widen(value), name, line, file);
    }
    static unsigned count(int predicate, const char* name, int line, const char* file) {
        const uint64_t* const votes = gather(unsigned(predicate != 0), name, line, file);
        unsigned sum = 0;
        for (unsigned i = 0; i < tile_size; ++i) sum += unsigned(votes[i]);
        return sum;
    }
};

template <unsigned tile_size, class Parent>
constexpr bool fits(const Parent*) { return true; }
template <unsigned tile_size, unsigned parent_size, class Grandparent>
constexpr bool fits(const thread_block_tile<parent_size, Grandparent>*) { return tile_size < parent_size; }

}  // namespace details

template <unsigned tile_size, class Parent>
class thread_block_tile : public details::Tile<tile_size> {
public:
    static unsigned meta_group_rank() { return Parent::thread_rank() / tile_size; }
    static unsigned meta_group_size() { return (Parent::size() + tile_size - 1) / tile_size; }
    operator thread_block_tile<tile_size, void>() const {
        return thread_block_tile<tile_size, void>(meta_group_rank(), meta_group_size());
    }

protected:
    thread_block_tile() = default;
    template <unsigned size, class Group>
    friend thread_block_tile<size, Group> tiled_partition(const Group&);
};

template <unsigned tile_size>
class thread_block_tile<tile_size, void> : public details::Tile<tile_size>, public thread_group {
    using Base = details::Tile<tile_size>;

public:
    using Base::_group_id;
    using Base::num_threads;
    using Base::size;
    using Base::sync;
    using Base::thread_rank;
    unsigned meta_group_rank() const { return meta_rank_; }
    unsigned meta_group_size() const { return meta_size_; }

private:
    friend details::Inside;
    template <unsigned, class>
    friend class thread_block_tile;
    friend thread_block_tile<1, void> this_thread();

    thread_block_tile(unsigned rank, unsigned count) : thread_group(details::coalesced_group_id) {
        if constexpr (tile_size <= 32) lanes_ = Base::lanes();
        meta_rank_ = rank;
        meta_size_ = count;
        is_tile_ = true;
    }
};

inline thread_block_tile<1, void> this_thread() { return thread_block_tile<1, void>(0, 1); }

// ---- Partitions ----

template <unsigned tile_size, class Group>
inline thread_block_tile<tile_size, Group> tiled_partition(const Group& parent) {
    static_assert(details::fits<tile_size>(static_cast<const Group*>(nullptr)),
                  "a tile is smaller than the tile that it is a part of");
    (void)parent;
    return thread_block_tile<tile_size, Group>();
}

inline coalesced_group tiled_partition(const coalesced_group& parent, unsigned size, SIMT_CALLED_FROM) {
    details::require_tile_size(size, line, file);
    if (parent.size() <= size) return parent;
    const unsigned rank = parent.thread_rank() / size;
    uint32_t lanes = 0;
    for (unsigned i = rank * size; i < (rank + 1) * size && i < parent.size(); ++i) {
        lanes |= simt::bit(simt::lane_of_rank(parent.lanes(), i));
    }
    return coalesced_group(lanes, rank, (parent.size() + size - 1) / size, parent.is_tile_);
}
inline thread_group tiled_partition(const thread_block&, unsigned size, SIMT_CALLED_FROM) {
    details::require_tile_size(size, line, file);
    const unsigned thread = simt::thread_in_block(), begin = thread & ~(size - 1), all = simt::threads_of_block();
    thread_group tile(details::coalesced_group_id);
    tile.lanes_ = simt::lowest(all - begin < size ? all - begin : size) << (begin % 32);
    tile.meta_rank_ = thread / size;
    tile.meta_size_ = (all + size - 1) / size;
    tile.is_tile_ = true;
    return tile;
}
inline thread_group tiled_partition(const thread_group& parent, unsigned size, SIMT_CALLED_FROM) {
    if (parent.get_type() == details::coalesced_group_id) {
        return tiled_partition(static_cast<const coalesced_group&>(parent), size, line, file);
    }
    return tiled_partition(static_cast<const thread_block&>(parent), size, line, file);
}

namespace details {

// The parts of a group, of which `mine` is one, in the order of their first lanes.
template <class Group>
inline coalesced_group part(const Group& parent, uint32_t mine, const simt::GroupCall& call) {
    const unsigned first = unsigned(__builtin_ctz(mine));
    const bool leads = first == simt::current_lane->number;
    const uint32_t leaders = uint32_t(simt::vote_of(Inside::lanes(parent), simt::Operation::ballot, leads, call));
    const unsigned rank = unsigned(__builtin_popcount(leaders & simt::lanes_below(first)));
    return Inside::of_lanes<coalesced_group>(mine, rank, unsigned(__builtin_popcount(leaders)));
}

template <class Group>
inline coalesced_group binary_parts(const Group& parent, bool predicate, const simt::GroupCall& call) {
    const uint32_t all = Inside::lanes(parent);
    const uint32_t chosen = uint32_t(simt::vote_of(all, simt::Operation::ballot, predicate, call));
    const bool whole = chosen == all || chosen == 0;
    const uint32_t mine = whole ? all : predicate ? chosen : all & ~chosen;
    return Inside::of_lanes<coalesced_group>(mine, whole ? 0 : predicate, whole ? 1 : 2);
}

template <class Group, class Label>
inline coalesced_group labeled_parts(const Group& parent, Label label, int line, const char* file) {
    static_assert(std::is_integral<Label>::value || std::is_pointer<Label>::value,
                  "labeled_partition: a label is an integer or a pointer");
    const simt::GroupCall call{simt::Caller::labeled_partition, line, file};
    if constexpr (std::is_same<Label, bool>::value) {
        return binary_parts(parent, label, call);
    } else {
        const uint32_t all = Inside::lanes(parent);
        const uint64_t mine = simt::vote_of(all, simt::Operation::match_any, simt::widen(label), call);
        return part(parent, uint32_t(mine), call);
    }
}

}  // namespace details

inline coalesced_group binary_partition(const coalesced_group& parent, bool predicate, SIMT_CALLED_FROM) {
    return details::binary_parts(parent, predicate, {simt::Caller::binary_partition, line, file});
}
template <unsigned size, class Parent>
inline coalesced_group binary_partition(const thread_block_tile<size, Parent>& parent, bool predicate,
                                        SIMT_CALLED_FROM) {
    static_assert(size <= 32, "binary_partition takes tiles of up to 32 threads");
    return details::binary_parts(parent, predicate, {simt::Caller::binary_partition, line, file});
}
template <class Label>
inline coalesced_group labeled_partition(const coalesced_group& parent, Label label, SIMT_CALLED_FROM) {
    return details::labeled_parts(parent, label, line, file);
}
template <class Label, unsigned size, class Parent>
inline coalesced_group labeled_partition(const thread_block_tile<size, Parent>& parent, Label label,
                                         SIMT_CALLED_FROM) {
    static_assert(size <= 32, "labeled_partition takes tiles of up to 32 threads");
    return details::labeled_parts(parent, label, line, file);
}

// ---- Functions of any group ----

template <class Group>
inline void sync(const Group& group, SIMT_CALLED_FROM) { group.sync(line, file); }
template <class Group>
inline auto thread_rank(const Group& group) -> decltype(group.thread_rank()) { return group.thread_rank(); }
template <class Group>
inline auto group_size(const Group& group) -> decltype(group.num_threads()) { return group.num_threads(); }

inline unsigned long long thread_group::size() const {
    if (type_ == details::coalesced_group_id) return static_cast<const coalesced_group*>(this)->size();
    return type_ == details::grid_group_id ? grid_group::size() : thread_block::size();
}
inline unsigned long long thread_group::thread_rank() const {
    if (type_ == details::coalesced_group_id) return static_cast<const coalesced_group*>(this)->thread_rank();
    return type_ == details::grid_group_id ? grid_group::thread_rank() : thread_block::thread_rank();
}
inline void thread_group::sync(int line, const char* file) const {
    if (type_ == details::coalesced_group_id) return static_cast<const coalesced_group*>(this)->sync(line, file);
    if (type_ == details::grid_group_id) return static_cast<const grid_group*>(this)->sync(line, file);
    thread_block::sync(line, file);
}

// One thread of the group calls the function: the first. On a GPU it may be any.
template <class Group, class Function, class... Given>
inline void invoke_one(const Group& group, Function&& function, Given&&... given) {
    if (group.thread_rank() == 0) std::forward<Function>(function)(std::forward<Given>(given)...);
}
template <class Group, class Function, class... Given>
inline auto invoke_one_broadcast(const Group& group, Function&& function, Given&&... given) {
    using Result = details::remove_qual<decltype(function(std::forward<Given>(given)...))>;
    static_assert(!std::is_void<Result>::value, "a function without a result is called by invoke_one");
    Result result{};
    if (group.thread_rank() == 0) result = std::forward<Function>(function)(std::forward<Given>(given)...);
    return group.shfl(result, 0);
}

}  // namespace cooperative_groups
