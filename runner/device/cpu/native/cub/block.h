// cub::BlockReduce, BlockScan, BlockExchange, BlockLoad, BlockStore, BlockRadixSort and BlockHistogram.
//
// They go through shared memory and barriers, as on a GPU: a kernel that uses the memory again too early is caught like
// any other. The algorithms that can be chosen give the same.
#pragma once

#include "warp.h"

namespace cub {

enum BlockReduceAlgorithm {
    BLOCK_REDUCE_RAKING_COMMUTATIVE_ONLY,
    BLOCK_REDUCE_RAKING,
    BLOCK_REDUCE_WARP_REDUCTIONS,
    BLOCK_REDUCE_WARP_REDUCTIONS_NONDETERMINISTIC,
};
enum BlockScanAlgorithm { BLOCK_SCAN_RAKING, BLOCK_SCAN_RAKING_MEMOIZE, BLOCK_SCAN_WARP_SCANS };
enum BlockHistogramAlgorithm { BLOCK_HISTO_SORT, BLOCK_HISTO_ATOMIC };

// What the classes have in common: the memory is given, or the class has its own.
#define SIMT_TEMPORARY(CLASS, ELEMENT, COUNT)                                          \
public:                                                                                \
    struct TempStorage {                                                               \
        simt::Storage<ELEMENT, COUNT> shared;                                          \
    };                                                                                 \
    CLASS(SIMT_CALL) : shared_(own().shared), thread_(Block::thread(name, call)) {}    \
    CLASS(TempStorage& storage, SIMT_CALL) : shared_(storage.shared), thread_(Block::thread(name, call)) {} \
                                                                                       \
private:                                                                               \
    static TempStorage& own() {                                                        \
        __shared__ TempStorage storage;                                                \
        return storage;                                                                \
    }                                                                                  \
    simt::Storage<ELEMENT, COUNT>& shared_;                                            \
    unsigned thread_;

template <class T, int X, BlockReduceAlgorithm = BLOCK_REDUCE_WARP_REDUCTIONS, int Y = 1, int Z = 1, int = 0>
class BlockReduce {
    static constexpr const char* name = "cub::BlockReduce";
    using Block = simt::BlockOf<X, Y, Z>;
    SIMT_TEMPORARY(BlockReduce, T, Block::warps)

public:
    // Only the first thread has the result.
    template <class Op>
    T Reduce(T input, Op op, int num_valid, SIMT_CALL) {
        const int before = int(thread_ & ~31u);
        const simt::Lanes<32> lanes;
        const T own = lanes.reduce(name, input, min(num_valid - before, 32) - 1, op, call);
        if (lanes.lane == 0) put(shared_[thread_ / 32], own);
        simt::block_barrier(call);
        if (thread_) return simt::undefined<T>();
        T total = own;
        for (int warp = 1; warp * 32 < num_valid; ++warp) total = op(total, shared_[warp]);
        return total;
    }
    template <class Op>
    T Reduce(T input, Op op, SIMT_CALL) { return Reduce(input, op, Block::threads, call); }
    template <int items, class Op>
    T Reduce(T (&inputs)[items], Op op, SIMT_CALL) { return Reduce(ThreadReduce(inputs, op), op, call); }
    T Sum(T input, SIMT_CALL) { return Reduce(input, cuda::std::plus<>(), call); }
    T Sum(T input, int num_valid, SIMT_CALL) { return Reduce(input, cuda::std::plus<>(), num_valid, call); }
    template <int items>
    T Sum(T (&inputs)[items], SIMT_CALL) { return Reduce(inputs, cuda::std::plus<>(), call); }
};

template <class T, int X, BlockScanAlgorithm = BLOCK_SCAN_RAKING, int Y = 1, int Z = 1, int = 0>
class BlockScan {
    static constexpr const char* name = "cub::BlockScan";
    using Block = simt::BlockOf<X, Y, Z>;
    SIMT_TEMPORARY(BlockScan, T, Block::warps + 1)

    struct NoPrefix {};

    // `initial`, `aggregate` and `prefix` may be null. The first warp calls `prefix` with the aggregate; what its first
    // lane gets comes before all of the block's items.
    template <bool exclusive, int items, class Op, class Prefix>
    void scan(const T* input, T* output, Op op, const T* initial, T* aggregate, Prefix* prefix, simt::Call call) {
        T partial = input[0];
        for (int i = 1; i < items; ++i) partial = op(partial, input[i]);

        const simt::Lanes<32> lanes;
        const unsigned warp = thread_ / 32;
        const T up_to_here = lanes.inclusive_scan(name, partial, op, call);
        const T before_here = lanes.of(name, up_to_here, lanes.lane ? lanes.lane - 1 : 0, call);
        if (lanes.lane == 31 || thread_ == Block::threads - 1) put(shared_[warp], up_to_here);
        simt::block_barrier(call);

        T total = shared_[0], before = total;  // of all warps, and of those before this one
        for (int w = 1; w < Block::warps; ++w) {
            if (unsigned(w) == warp) before = total;
            total = op(total, shared_[w]);
        }
        bool any_before = warp > 0;
        if (lanes.lane) before = any_before ? op(before, before_here) : before_here, any_before = true;
        if (aggregate) *aggregate = total;
        if (initial) before = any_before ? op(*initial, before) : *initial, any_before = true;
        if constexpr (!std::is_same<Prefix, NoPrefix>::value) {
            if (warp == 0) {
                const T first = (*prefix)(total);
                if (thread_ == 0) put(shared_[Block::warps], first);
            }
            simt::block_barrier(call);
            const T first = shared_[Block::warps];
            before = any_before ? op(first, before) : first, any_before = true;
        }
        for (int i = 0; i < items; ++i) {
            const T item = input[i];  // which may be the output's place
            const T through = any_before ? op(before, item) : item;
            output[i] = !exclusive ? through : any_before ? before : simt::undefined<T>();
            before = through, any_before = true;
        }
    }

public:
#define SIMT_SCANS(NAME, EXCLUSIVE, ITEMS, TEMPLATE, TEMPLATE_AND, IN, OUT, FIRST_IN, FIRST_OUT, INITIAL_OF_SUM)           \
    TEMPLATE void NAME##Sum(IN, OUT, SIMT_CALL) {                                                                          \
        const T zero{};                                                                                                    \
        scan<EXCLUSIVE, ITEMS>(FIRST_IN, FIRST_OUT, cuda::std::plus<>(), INITIAL_OF_SUM, nullptr, (NoPrefix*)0, call);     \
    }                                                                                                                      \
    TEMPLATE void NAME##Sum(IN, OUT, T& aggregate, SIMT_CALL) {                                                            \
        const T zero{};                                                                                                    \
        scan<EXCLUSIVE, ITEMS>(FIRST_IN, FIRST_OUT, cuda::std::plus<>(), INITIAL_OF_SUM, &aggregate, (NoPrefix*)0, call);  \
    }                                                                                                                      \
    TEMPLATE_AND class Prefix> void NAME##Sum(IN, OUT, Prefix& prefix, SIMT_CALL) {                                        \
        scan<EXCLUSIVE, ITEMS>(FIRST_IN, FIRST_OUT, cuda::std::plus<>(), nullptr, nullptr, &prefix, call);                 \
    }                                                                                                                      \
    TEMPLATE_AND class Op> void NAME##Scan(IN, OUT, Op op, SIMT_CALL) {                                                    \
        scan<EXCLUSIVE, ITEMS>(FIRST_IN, FIRST_OUT, op, nullptr, nullptr, (NoPrefix*)0, call);                             \
    }                                                                                                                      \
    TEMPLATE_AND class Op> void NAME##Scan(IN, OUT, Op op, T& aggregate, SIMT_CALL) {                                      \
        scan<EXCLUSIVE, ITEMS>(FIRST_IN, FIRST_OUT, op, nullptr, &aggregate, (NoPrefix*)0, call);                          \
    }                                                                                                                      \
    TEMPLATE_AND class Op> void NAME##Scan(IN, OUT, T initial, Op op, SIMT_CALL) {                                         \
        scan<EXCLUSIVE, ITEMS>(FIRST_IN, FIRST_OUT, op, &initial, nullptr, (NoPrefix*)0, call);                            \
    }                                                                                                                      \
    TEMPLATE_AND class Op> void NAME##Scan(IN, OUT, T initial, Op op, T& aggregate, SIMT_CALL) {                           \
        scan<EXCLUSIVE, ITEMS>(FIRST_IN, FIRST_OUT, op, &initial, &aggregate, (NoPrefix*)0, call);                         \
    }                                                                                                                      \
    TEMPLATE_AND class Op, class Prefix> void NAME##Scan(IN, OUT, Op op, Prefix& prefix, SIMT_CALL) {                      \
        scan<EXCLUSIVE, ITEMS>(FIRST_IN, FIRST_OUT, op, nullptr, nullptr, &prefix, call);                                  \
    }
#define SIMT_ONE
#define SIMT_ONE_AND template <
#define SIMT_ITEMS template <int items>
#define SIMT_ITEMS_AND template <int items,
    SIMT_SCANS(Exclusive, true, 1, SIMT_ONE, SIMT_ONE_AND, T input, T& output, &input, &output, &zero)
    SIMT_SCANS(Inclusive, false, 1, SIMT_ONE, SIMT_ONE_AND, T input, T& output, &input, &output, (zero, nullptr))
    SIMT_SCANS(Exclusive, true, items, SIMT_ITEMS, SIMT_ITEMS_AND, T(&input)[items], T(&output)[items], input, output, &zero)
    SIMT_SCANS(Inclusive, false, items, SIMT_ITEMS, SIMT_ITEMS_AND, T(&input)[items], T(&output)[items], input, output,
               (zero, nullptr))
#undef SIMT_SCANS
#undef SIMT_ONE
#undef SIMT_ONE_AND
#undef SIMT_ITEMS
#undef SIMT_ITEMS_AND
};

// The place of a thread's item among all: `blocked`, a thread's items follow each other; `striped`, the threads' i-th
// items do; `warp_striped`, within what a warp has.
namespace simt_places {

enum class Order { blocked, striped, warp_striped };

template <int threads, int items>
inline int place(Order order, int thread, int item) {
    switch (order) {
        case Order::blocked: return thread * items + item;
        case Order::striped: return item * threads + thread;
        default: return thread / 32 * 32 * items + item * min(threads, 32) + thread % 32;
    }
}

}  // namespace simt_places

template <class T, int X, int ITEMS, bool = false, int Y = 1, int Z = 1, int = 0>
class BlockExchange {
    static constexpr const char* name = "cub::BlockExchange";
    using Block = simt::BlockOf<X, Y, Z>;
    using Order = simt_places::Order;
    SIMT_TEMPORARY(BlockExchange, T, size_t(Block::threads) * ITEMS)

    template <class Out>
    void exchange(const T* input, Out* output, Order from, Order to, simt::Call call) {
        for (int i = 0; i < ITEMS; ++i) put(shared_[place(from, i)], input[i]);
        // Items stay within their warp, unless they are striped over the block.
        if (from == Order::striped || to == Order::striped) {
            simt::block_barrier(call);
        } else {
            __syncwarp(simt::all_lanes, call.line, call.file);
        }
        for (int i = 0; i < ITEMS; ++i) output[i] = shared_[place(to, i)];
    }
    size_t place(Order order, int i) { return size_t(simt_places::place<Block::threads, ITEMS>(order, int(thread_), i)); }

    template <class Out, class Rank>
    void scatter(const T* input, Out* output, const Rank* ranks, Order to, simt::Call call) {
        for (int i = 0; i < ITEMS; ++i) {
            if (ranks[i] >= Rank(0) && size_t(ranks[i]) < size_t(Block::threads) * ITEMS) put(shared_[size_t(ranks[i])], input[i]);
        }
        simt::block_barrier(call);
        for (int i = 0; i < ITEMS; ++i) output[i] = shared_[place(to, i)];
    }

public:
#define SIMT_EXCHANGE(NAME, FROM, TO)                                                          \
    template <class Out>                                                                       \
    void NAME(const T (&input)[ITEMS], Out (&output)[ITEMS], SIMT_CALL) {                      \
        exchange(input, output, Order::FROM, Order::TO, call);                                 \
    }                                                                                          \
    void NAME(T (&items)[ITEMS], SIMT_CALL) { exchange(items, items, Order::FROM, Order::TO, call); }
    SIMT_EXCHANGE(StripedToBlocked, striped, blocked)
    SIMT_EXCHANGE(BlockedToStriped, blocked, striped)
    SIMT_EXCHANGE(WarpStripedToBlocked, warp_striped, blocked)
    SIMT_EXCHANGE(BlockedToWarpStriped, blocked, warp_striped)
#undef SIMT_EXCHANGE
    template <class Out, class Rank>
    void ScatterToBlocked(const T (&input)[ITEMS], Out (&output)[ITEMS], Rank (&ranks)[ITEMS], SIMT_CALL) {
        scatter(input, output, ranks, Order::blocked, call);
    }
    template <class Out, class Rank>
    void ScatterToStriped(const T (&input)[ITEMS], Out (&output)[ITEMS], Rank (&ranks)[ITEMS], SIMT_CALL) {
        scatter(input, output, ranks, Order::striped, call);
    }
    template <class Rank>
    void ScatterToBlocked(T (&items)[ITEMS], Rank (&ranks)[ITEMS], SIMT_CALL) {
        scatter(items, items, ranks, Order::blocked, call);
    }
    template <class Rank>
    void ScatterToStriped(T (&items)[ITEMS], Rank (&ranks)[ITEMS], SIMT_CALL) {
        scatter(items, items, ranks, Order::striped, call);
    }
};

namespace simt_places {

// One thread's items; those from `valid` on are left out.
template <Order order, int threads, class T, int items, class Iterator>
inline void load(int thread, Iterator from, T (&to)[items], int valid = INT_MAX) {
    for (int i = 0; i < items; ++i) {
        const int at = place<threads, items>(order, thread, i);
        if (at < valid) to[i] = from[at];
    }
}
template <Order order, int threads, class T, int items, class Iterator, class Default>
inline void load(int thread, Iterator from, T (&to)[items], int valid, Default otherwise) {
    for (int i = 0; i < items; ++i) to[i] = otherwise;
    load<order, threads>(thread, from, to, valid);
}
template <Order order, int threads, class T, int items, class Iterator>
inline void store(int thread, Iterator to, T (&from)[items], int valid = INT_MAX) {
    for (int i = 0; i < items; ++i) {
        const int at = place<threads, items>(order, thread, i);
        if (at < valid) to[at] = from[i];
    }
}

constexpr int any_count = 1024;  // of threads, where the places do not depend on it

}  // namespace simt_places

#define SIMT_DIRECT(NAME, TEMPLATE, ORDER, THREADS)                                                           \
    TEMPLATE class T, int items, class Iterator, class... Valid>                                              \
    inline void LoadDirect##NAME(int thread, Iterator from, T (&to)[items], Valid... valid) {                 \
        simt_places::load<simt_places::Order::ORDER, THREADS>(thread, from, to, valid...);                    \
    }                                                                                                         \
    TEMPLATE class T, int items, class Iterator, class... Valid>                                              \
    inline void StoreDirect##NAME(int thread, Iterator to, T (&from)[items], Valid... valid) {                \
        simt_places::store<simt_places::Order::ORDER, THREADS>(thread, to, from, valid...);                   \
    }
#define SIMT_FOR_THREADS template <int threads,
SIMT_DIRECT(Blocked, template <, blocked, simt_places::any_count)
SIMT_DIRECT(WarpStriped, template <, warp_striped, simt_places::any_count)
SIMT_DIRECT(Striped, SIMT_FOR_THREADS, striped, threads)
#undef SIMT_DIRECT
#undef SIMT_FOR_THREADS

// The algorithms differ in the order in which memory is read and written. Those that transpose go through shared memory.
enum BlockLoadAlgorithm {
    BLOCK_LOAD_DIRECT,
    BLOCK_LOAD_STRIPED,
    BLOCK_LOAD_VECTORIZE,
    BLOCK_LOAD_TRANSPOSE,
    BLOCK_LOAD_WARP_TRANSPOSE,
    BLOCK_LOAD_WARP_TRANSPOSE_TIMESLICED,
};
enum BlockStoreAlgorithm {
    BLOCK_STORE_DIRECT,
    BLOCK_STORE_STRIPED,
    BLOCK_STORE_VECTORIZE,
    BLOCK_STORE_TRANSPOSE,
    BLOCK_STORE_WARP_TRANSPOSE,
    BLOCK_STORE_WARP_TRANSPOSE_TIMESLICED,
};

namespace simt_places {

// How memory is read or written by the algorithm of that number, which both enumerations share.
constexpr Order order_of(int algorithm) {
    if (algorithm == BLOCK_LOAD_STRIPED || algorithm == BLOCK_LOAD_TRANSPOSE) return Order::striped;
    return algorithm > BLOCK_LOAD_TRANSPOSE ? Order::warp_striped : Order::blocked;
}

}  // namespace simt_places

template <class T, int X, int ITEMS, BlockLoadAlgorithm ALGORITHM = BLOCK_LOAD_DIRECT, int Y = 1, int Z = 1, int = 0>
class BlockLoad {
    static constexpr const char* name = "cub::BlockLoad";
    using Block = simt::BlockOf<X, Y, Z>;
    using Exchange = BlockExchange<T, X, ITEMS, false, Y, Z>;
    static constexpr bool transposes = ALGORITHM >= BLOCK_LOAD_TRANSPOSE;
    SIMT_TEMPORARY(BlockLoad, typename Exchange::TempStorage, transposes)

    template <class... Arguments>
    void load(simt::Call call, T (&items)[ITEMS], Arguments... arguments) {
        constexpr simt_places::Order order = simt_places::order_of(ALGORITHM);
        load_directly<order>(items, arguments...);
        if constexpr (ALGORITHM == BLOCK_LOAD_TRANSPOSE) {
            Exchange(shared_[0], call).StripedToBlocked(items, call);
        } else if constexpr (transposes) {
            Exchange(shared_[0], call).WarpStripedToBlocked(items, call);
        }
    }
    template <simt_places::Order order, class Iterator, class... Valid>
    void load_directly(T (&items)[ITEMS], Iterator from, Valid... valid) {
        simt_places::load<order, Block::threads>(int(thread_), from, items, valid...);
    }

public:
    template <class Iterator>
    void Load(Iterator from, T (&items)[ITEMS], SIMT_CALL) { load(call, items, from); }
    template <class Iterator>
    void Load(Iterator from, T (&items)[ITEMS], int valid, SIMT_CALL) { load(call, items, from, valid); }
    template <class Iterator, class Default>
    void Load(Iterator from, T (&items)[ITEMS], int valid, Default otherwise, SIMT_CALL) {
        load(call, items, from, valid, otherwise);
    }
};

template <class T, int X, int ITEMS, BlockStoreAlgorithm ALGORITHM = BLOCK_STORE_DIRECT, int Y = 1, int Z = 1, int = 0>
class BlockStore {
    static constexpr const char* name = "cub::BlockStore";
    using Block = simt::BlockOf<X, Y, Z>;
    using Exchange = BlockExchange<T, X, ITEMS, false, Y, Z>;
    static constexpr bool transposes = ALGORITHM >= BLOCK_STORE_TRANSPOSE;
    SIMT_TEMPORARY(BlockStore, typename Exchange::TempStorage, transposes)

public:
    template <class Iterator>
    void Store(Iterator to, T (&items)[ITEMS], int valid, SIMT_CALL) {
        if constexpr (ALGORITHM == BLOCK_STORE_TRANSPOSE) {
            Exchange(shared_[0], call).BlockedToStriped(items, call);
        } else if constexpr (transposes) {
            Exchange(shared_[0], call).BlockedToWarpStriped(items, call);
        }
        simt_places::store<simt_places::order_of(ALGORITHM), Block::threads>(int(thread_), to, items, valid);
    }
    template <class Iterator>
    void Store(Iterator to, T (&items)[ITEMS], SIMT_CALL) { Store(to, items, INT_MAX, call); }
};

namespace simt_places {

// A key's bits, ordered as unsigned numbers; -0 sorts as 0.
template <class Key>
inline uint64_t sortable(Key key) {
    constexpr int size = 8 * sizeof(Key);
    uint64_t bits = 0;
    memcpy(&bits, &key, sizeof key);
    constexpr uint64_t sign = 1ull << (size - 1), all = sign | (sign - 1);
    if constexpr (std::is_integral<Key>::value) return std::is_signed<Key>::value ? bits ^ sign : bits;
    if (bits == sign) bits = 0;
    return bits & sign ? ~bits & all : bits | sign;
}

}  // namespace simt_places

template <class Key, int X, int ITEMS, class Value = NullType, int = 4, bool = true,
          BlockScanAlgorithm = BLOCK_SCAN_WARP_SCANS, int = 0, int Y = 1, int Z = 1, int = 0>
class BlockRadixSort {
    static constexpr const char* name = "cub::BlockRadixSort";
    using Block = simt::BlockOf<X, Y, Z>;
    struct Memory {
        typename BlockExchange<Key, X, ITEMS, false, Y, Z>::TempStorage keys;
        typename BlockExchange<Value, X, ITEMS, false, Y, Z>::TempStorage values;
        typename BlockScan<int, X, BLOCK_SCAN_RAKING, Y, Z>::TempStorage zeros;
    };
    SIMT_TEMPORARY(BlockRadixSort, Memory, 1)

    // Bit by bit, from the lowest: items with a 0 go before those with a 1, and equal ones keep their order.
    void sort(Key (&keys)[ITEMS], Value* values, bool descending, bool striped, int begin, int end, simt::Call call) {
        Memory& memory = shared_[0];
        for (int bit = begin; bit < end; ++bit) {
            int ones[ITEMS], zeros = 0, zeros_before, all_zeros;
            for (int i = 0; i < ITEMS; ++i) {
                ones[i] = int(simt_places::sortable(keys[i]) >> bit & 1) ^ int(descending);
                zeros += !ones[i];
            }
            BlockScan<int, X, BLOCK_SCAN_RAKING, Y, Z>(memory.zeros, call).ExclusiveSum(zeros, zeros_before, all_zeros, call);
            int ranks[ITEMS];
            for (int i = 0; i < ITEMS; ++i) {
                ranks[i] = ones[i] ? all_zeros + int(thread_) * ITEMS + i - zeros_before : zeros_before;
                zeros_before += !ones[i];
            }
            const bool last = bit + 1 == end && striped;
            move(memory.keys, keys, ranks, last, call);
            if (values) move(memory.values, reinterpret_cast<Value(&)[ITEMS]>(*values), ranks, last, call);
            simt::block_barrier(call);
        }
    }
    template <class T, class Storage>
    static void move(Storage& storage, T (&items)[ITEMS], int (&ranks)[ITEMS], bool striped, simt::Call call) {
        BlockExchange<T, X, ITEMS, false, Y, Z> exchange(storage, call);
        striped ? exchange.ScatterToStriped(items, ranks, call) : exchange.ScatterToBlocked(items, ranks, call);
    }

public:
#define SIMT_SORT(NAME, DESCENDING, STRIPED)                                                            \
    void NAME(Key (&keys)[ITEMS], int begin = 0, int end = sizeof(Key) * 8, SIMT_CALL) {                \
        sort(keys, nullptr, DESCENDING, STRIPED, begin, end, call);                                     \
    }                                                                                                   \
    void NAME(Key (&keys)[ITEMS], Value (&values)[ITEMS], int begin = 0, int end = sizeof(Key) * 8, SIMT_CALL) { \
        sort(keys, values, DESCENDING, STRIPED, begin, end, call);                                      \
    }
    SIMT_SORT(Sort, false, false)
    SIMT_SORT(SortDescending, true, false)
    SIMT_SORT(SortBlockedToStriped, false, true)
    SIMT_SORT(SortDescendingBlockedToStriped, true, true)
#undef SIMT_SORT
};

template <class T, int X, int ITEMS, int BINS, BlockHistogramAlgorithm = BLOCK_HISTO_SORT, int Y = 1, int Z = 1, int = 0>
class BlockHistogram {
    static constexpr const char* name = "cub::BlockHistogram";
    using Block = simt::BlockOf<X, Y, Z>;
    SIMT_TEMPORARY(BlockHistogram, int, 1)

public:
    template <class Counter>
    void InitHistogram(Counter (&counters)[BINS]) {
        for (int bin = int(thread_); bin < BINS; bin += Block::threads) counters[bin] = 0;
    }
    template <class Counter>
    void Composite(T (&items)[ITEMS], Counter (&counters)[BINS], SIMT_CALL) {
        for (const T item : items) {
            if (size_t(item) >= BINS) simt::violation(call.line, call.file, "%s: an item is in none of the %d bins", name, BINS);
            simt::add(&counters[size_t(item)], Counter(1));
        }
    }
    template <class Counter>
    void Histogram(T (&items)[ITEMS], Counter (&counters)[BINS], SIMT_CALL) {
        InitHistogram(counters);
        simt::block_barrier(call);
        Composite(items, counters, call);
    }
};
#undef SIMT_TEMPORARY

}  // namespace cub
