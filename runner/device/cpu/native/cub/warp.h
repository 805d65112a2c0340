// cub::WarpReduce and cub::WarpScan. They need no shared memory here, as on a GPU.
#pragma once

#include "threads.h"

namespace cub {

template <class T, int LOGICAL_WARP_THREADS = 32, int = 0>
class WarpReduce {
    using Lanes = simt::Lanes<LOGICAL_WARP_THREADS>;

public:
    struct TempStorage {};
    explicit WarpReduce(TempStorage&) {}

    // Only the first lane has the result.
    template <class Op>
    T Reduce(T input, Op op, int valid_items, SIMT_CALL) {
        const Lanes lanes;
        const T result = lanes.reduce("cub::WarpReduce", input, valid_items - 1, op, call);
        return lanes.lane ? simt::undefined<T>() : result;
    }
    template <class Op>
    T Reduce(T input, Op op, SIMT_CALL) { return Reduce(input, op, LOGICAL_WARP_THREADS, call); }
    T Sum(T input, SIMT_CALL) { return Reduce(input, cuda::std::plus<>(), call); }
    T Sum(T input, int valid_items, SIMT_CALL) { return Reduce(input, cuda::std::plus<>(), valid_items, call); }
    T Max(T input, SIMT_CALL) { return Reduce(input, cuda::maximum<>(), call); }
    T Min(T input, SIMT_CALL) { return Reduce(input, cuda::minimum<>(), call); }

    // The first lane of each segment has its result. A flag is at the segment's first lane, or at its last one.
    template <class Flag, class Op>
    T HeadSegmentedReduce(T input, Flag flag, Op op, SIMT_CALL) { return segmented(true, input, bool(flag), op, call); }
    template <class Flag, class Op>
    T TailSegmentedReduce(T input, Flag flag, Op op, SIMT_CALL) { return segmented(false, input, bool(flag), op, call); }
    template <class Flag>
    T HeadSegmentedSum(T input, Flag flag, SIMT_CALL) {
        return segmented(true, input, bool(flag), cuda::std::plus<>(), call);
    }
    template <class Flag>
    T TailSegmentedSum(T input, Flag flag, SIMT_CALL) {
        return segmented(false, input, bool(flag), cuda::std::plus<>(), call);
    }

private:
    template <class Op>
    static T segmented(bool heads, T input, bool flag, Op op, simt::Call call) {
        const Lanes lanes;
        const unsigned flags = unsigned(simt::vote(simt::Operation::ballot, lanes.mask, flag, call.line, call.file)) >> lanes.first;
        const unsigned ends = heads ? flags >> 1 : flags;  // a bit at each segment's last lane
        const unsigned later = ends >> lanes.lane;
        const int last = later ? int(lanes.lane) + __builtin_ctz(later) : LOGICAL_WARP_THREADS - 1;
        const bool is_first = lanes.lane == 0 || (ends >> (lanes.lane - 1) & 1);
        const T result = lanes.reduce("cub::WarpReduce", input, last, op, call);
        return is_first ? result : simt::undefined<T>();
    }
};

template <class T, int LOGICAL_WARP_THREADS = 32, int = 0>
class WarpScan {
    static constexpr const char* name = "cub::WarpScan";
    using Lanes = simt::Lanes<LOGICAL_WARP_THREADS>;

public:
    struct TempStorage {};
    explicit WarpScan(TempStorage&) {}

    void InclusiveSum(T input, T& output, SIMT_CALL) { InclusiveScan(input, output, cuda::std::plus<>(), call); }
    void InclusiveSum(T input, T& output, T& warp_aggregate, SIMT_CALL) {
        InclusiveScan(input, output, cuda::std::plus<>(), warp_aggregate, call);
    }
    void ExclusiveSum(T input, T& output, SIMT_CALL) { ExclusiveScan(input, output, T{}, cuda::std::plus<>(), call); }
    void ExclusiveSum(T input, T& output, T& warp_aggregate, SIMT_CALL) {
        ExclusiveScan(input, output, T{}, cuda::std::plus<>(), warp_aggregate, call);
    }
    template <class Op>
    void InclusiveScan(T input, T& output, Op op, SIMT_CALL) { scan(input, &output, nullptr, op, nullptr, nullptr, call); }
    template <class Op>
    void InclusiveScan(T input, T& output, T initial, Op op, SIMT_CALL) {
        scan(input, &output, nullptr, op, &initial, nullptr, call);
    }
    template <class Op>
    void InclusiveScan(T input, T& output, Op op, T& warp_aggregate, SIMT_CALL) {
        scan(input, &output, nullptr, op, nullptr, &warp_aggregate, call);
    }
    template <class Op>
    void ExclusiveScan(T input, T& output, Op op, SIMT_CALL) { scan(input, nullptr, &output, op, nullptr, nullptr, call); }
    template <class Op>
    void ExclusiveScan(T input, T& output, T initial, Op op, SIMT_CALL) {
        scan(input, nullptr, &output, op, &initial, nullptr, call);
    }
    template <class Op>
    void ExclusiveScan(T input, T& output, Op op, T& warp_aggregate, SIMT_CALL) {
        scan(input, nullptr, &output, op, nullptr, &warp_aggregate, call);
    }
    template <class Op>
    void ExclusiveScan(T input, T& output, T initial, Op op, T& warp_aggregate, SIMT_CALL) {
        scan(input, nullptr, &output, op, &initial, &warp_aggregate, call);
    }
    template <class Op>
    void Scan(T input, T& inclusive, T& exclusive, Op op, SIMT_CALL) {
        scan(input, &inclusive, &exclusive, op, nullptr, nullptr, call);
    }
    template <class Op>
    void Scan(T input, T& inclusive, T& exclusive, T initial, Op op, SIMT_CALL) {
        scan(input, &inclusive, &exclusive, op, &initial, nullptr, call);
    }
    T Broadcast(T input, unsigned source, SIMT_CALL) { return Lanes().of(name, input, source, call); }

private:
    template <class Op>
    static void scan(T input, T* inclusive, T* exclusive, Op op, const T* initial, T* aggregate, simt::Call call) {
        const Lanes lanes;
        const T own = lanes.inclusive_scan(name, input, op, call);
        if (aggregate) *aggregate = lanes.of(name, own, LOGICAL_WARP_THREADS - 1, call);
        if (exclusive) {
            const T before = lanes.of(name, own, lanes.lane ? lanes.lane - 1 : 0, call);
            *exclusive = lanes.lane == 0 ? (initial ? *initial : simt::undefined<T>()) : initial ? op(*initial, before) : before;
        }
        if (inclusive) *inclusive = initial ? op(*initial, own) : own;
    }
};

}  // namespace cub
