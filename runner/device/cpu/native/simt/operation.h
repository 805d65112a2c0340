// What lanes can wait for together.
#pragma once

#include <stdint.h>

namespace simt {

enum class Operation : uint32_t {
    shfl_idx,
    shfl_up,
    shfl_down,
    shfl_xor,
    syncwarp,
    ballot,
    any,
    all,
    match_any,
    match_all,
    reduce_add,
    reduce_min_signed,
    reduce_max_signed,
    reduce_min_unsigned,
    reduce_max_unsigned,
    reduce_and,
    reduce_or,
    reduce_xor,
    activemask,
    bar_sync,    // all lanes of a warp, before the warp arrives at a named barrier
    bar_arrive,
    barrier,
    barrier_count,
    barrier_and,
    barrier_or,
    barrier_of_group,  // thread_block::sync()
    barrier_of_grid,   // the first half of grid_group::sync(): the block's own threads
};

// What called a collective, where that is no intrinsic.
enum class Caller : uint32_t {
    intrinsic,
    group,  // a member function of cooperative groups, of the intrinsic's name
    reduce,
    inclusive_scan,
    exclusive_scan,
    labeled_partition,
    binary_partition,
    invoke_one,
};

// The operation, what called it and the mask of a collective in one word: lanes meet if and only if these words are
// equal, and the comparison is the innermost loop of the scheduler.
using Rendezvous = uint64_t;

constexpr Rendezvous rendezvous(Operation operation, uint32_t mask, Caller caller = Caller::intrinsic) {
    return uint64_t(caller) << 48 | uint64_t(operation) << 32 | mask;
}
constexpr Operation operation_of(Rendezvous r) { return Operation(r >> 32 & 0xffff); }
constexpr Caller caller_of(Rendezvous r) { return Caller(r >> 48); }
constexpr uint32_t mask_of(Rendezvous r) { return uint32_t(r); }

}  // namespace simt
