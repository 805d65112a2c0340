// What groups of at most 32 threads are made of: sets of lanes, and collectives of any such set.
#pragma once

#ifdef __clang__
#define SIMT_NOT_HERE(message) __attribute__((diagnose_if(true, message, "error")))
#else
#define SIMT_NOT_HERE(message) __attribute__((error(message)))
#endif
#define SIMT_GPU_ONLY " on the CPU device; set gpu_only: REASON in the kernel's YAML to run it only on GPUs"

namespace simt {

inline unsigned thread_in_block() { return current_lane->warp->number * lanes_per_warp + current_lane->number; }
inline unsigned threads_of_block() { return unsigned(block_size().volume()); }
inline uint32_t lanes_below(unsigned lane) { return bit(lane) - 1; }
inline uint32_t lowest(unsigned count) { return count >= lanes_per_warp ? all_lanes : bit(count) - 1; }
inline unsigned rank_in(uint32_t lanes) { return unsigned(__builtin_popcount(lanes & lanes_below(current_lane->number))); }

constexpr bool is_power_of_two(unsigned number) { return number && !(number & (number - 1)); }

// The lane of that rank in a set that has it.
inline unsigned lane_of_rank(uint32_t lanes, unsigned rank) {
    while (rank--) lanes &= lanes - 1;
    return unsigned(__builtin_ctz(lanes));
}

// The bits of `chosen` that belong to lanes of the set, by rank.
inline uint32_t by_rank(uint32_t lanes, uint32_t chosen) {
    uint32_t packed = 0;
    for (unsigned rank = 0; lanes; lanes &= lanes - 1, ++rank) {
        if (chosen & lanes & -lanes) packed |= bit(rank);
    }
    return packed;
}

// Where a collective was called, and by what.
struct GroupCall {
    Caller caller;
    int line;
    const char* file;
};

// Not inline, unlike the intrinsics: a scan alone has five of these, and a kernel may have many scans.
__attribute__((noinline)) inline uint64_t group_collective(Operation operation, uint32_t lanes, uint64_t operand,
                                                           uint32_t source, const GroupCall& call) {
    return collective(operation, lanes, operand, source, call.line, call.file, call.caller);
}

// A shuffle of a type of up to 32 bytes, eight at a time. `source` is a lane of the warp.
template <Operation kind, class Value>
inline Value shuffle_from(uint32_t lanes, Value value, uint32_t source, const GroupCall& call) {
    static_assert(sizeof(Value) <= 32, "collectives of cooperative groups take types of up to 32 bytes");
    static_assert(std::is_trivially_copyable<Value>::value, "collectives take types that can be copied as bytes");
    uint64_t words[(sizeof(Value) + 7) / 8] = {};
    memcpy(words, &value, sizeof value);
    for (uint64_t& word : words) word = group_collective(kind, lanes, word, source, call);
    memcpy(&value, words, sizeof value);
    return value;
}

inline uint64_t vote_of(uint32_t lanes, Operation operation, uint64_t operand, const GroupCall& call) {
    return group_collective(operation, lanes, operand, 0, call);
}

}  // namespace simt
