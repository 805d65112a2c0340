// Shuffles, votes, matches and reductions of a warp.
//
// Each function ends with two defaulted parameters that note the call's own place: default arguments are evaluated
// where the call is written, also inside templates and __device__ functions.
#pragma once

#define SIMT_CALLED_FROM int line = __builtin_LINE(), const char *file = __builtin_FILE()

namespace simt {

// The lane that a shuffle reads: the pseudo code of PTX's shfl.sync, with the constants that CUDA's headers pass to it.
// The argument counts modulo 32.
template <Operation kind>
SIMT_ALWAYS_INLINE uint32_t source_lane(uint32_t argument, int width) {
    const int lane = int(current_lane->number);
    const int by = int(argument & 31);
    const int segment_mask = 32 - width;
    const int clamp = kind == Operation::shfl_up ? 0 : 31;
    const int first = lane & segment_mask;
    const int limit = first | (clamp & ~segment_mask);
    switch (kind) {
        case Operation::shfl_up:
            return uint32_t(lane - by >= limit ? lane - by : lane);
        case Operation::shfl_down:
            return uint32_t(lane + by <= limit ? lane + by : lane);
        case Operation::shfl_xor:  // may reach an earlier segment, but not a later one
            return uint32_t((lane ^ by) <= limit ? lane ^ by : lane);
        default:
            return uint32_t(first | (by & ~segment_mask & 31));
    }
}

template <Operation kind, class T>
SIMT_UNSEEN T shuffle(const char* name, unsigned mask, T value, uint32_t argument, int width, int line,
                             const char* file) {
    static_assert(sizeof(T) <= 8 && std::is_trivially_copyable<T>::value, 
                  "a warp shuffle takes types of up to 8 bytes");
    const bool power_of_two = width > 0 && width <= 32 && (width & (width - 1)) == 0;
    if (__builtin_expect(!power_of_two, 0)) {
        violation(line, file, "%s: width %d is not a power of two from 1 to 32", name, width);
    }
    return narrow<T>(collective(kind, mask, widen(value), source_lane<kind>(argument, width), line, file));
}

SIMT_UNSEEN uint64_t vote(Operation operation, unsigned mask, uint64_t operand, int line, const char* file) {
    return collective(operation, mask, operand, 0, line, file);
}

}  // namespace simt

template <class T>
inline T __shfl_sync(unsigned mask, T value, int source, int width = 32, SIMT_CALLED_FROM) {
    return simt::shuffle<simt::Operation::shfl_idx>("__shfl_sync", mask, value, uint32_t(source), width, line, file);
}
template <class T>
inline T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32, SIMT_CALLED_FROM) {
    return simt::shuffle<simt::Operation::shfl_up>("__shfl_up_sync", mask, value, delta, width, line, file);
}
template <class T>
inline T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32, SIMT_CALLED_FROM) {
    return simt::shuffle<simt::Operation::shfl_down>("__shfl_down_sync", mask, value, delta, width, line, file);
}
template <class T>
inline T __shfl_xor_sync(unsigned mask, T value, int lane_mask, int width = 32, SIMT_CALLED_FROM) {
    return simt::shuffle<simt::Operation::shfl_xor>("__shfl_xor_sync", mask, value, uint32_t(lane_mask), width, line,
                                                    file);
}

inline void __syncwarp(unsigned mask = 0xffffffffu, SIMT_CALLED_FROM) {
    simt::vote(simt::Operation::syncwarp, mask, 0, line, file);
}
inline unsigned __ballot_sync(unsigned mask, int predicate, SIMT_CALLED_FROM) {
    return unsigned(simt::vote(simt::Operation::ballot, mask, predicate != 0, line, file));
}
inline int __any_sync(unsigned mask, int predicate, SIMT_CALLED_FROM) {
    return int(simt::vote(simt::Operation::any, mask, predicate != 0, line, file));
}
inline int __all_sync(unsigned mask, int predicate, SIMT_CALLED_FROM) {
    return int(simt::vote(simt::Operation::all, mask, predicate != 0, line, file));
}

template <class T>
inline unsigned __match_any_sync(unsigned mask, T value, SIMT_CALLED_FROM) {
    return unsigned(simt::vote(simt::Operation::match_any, mask, simt::widen(value), line, file));
}
template <class T>
inline unsigned __match_all_sync(unsigned mask, T value, int* predicate, SIMT_CALLED_FROM) {
    const unsigned lanes = unsigned(simt::vote(simt::Operation::match_all, mask, simt::widen(value), line, file));
    *predicate = lanes != 0;
    return lanes;
}

#define SIMT_REDUCTION(NAME, TYPE, OPERATION)                                                         \
    inline TYPE NAME(unsigned mask, TYPE value, SIMT_CALLED_FROM) {                                   \
        return TYPE(simt::vote(simt::Operation::OPERATION, mask, uint32_t(value), line, file));       \
    }
SIMT_REDUCTION(__reduce_add_sync, unsigned, reduce_add)
SIMT_REDUCTION(__reduce_add_sync, int, reduce_add)
SIMT_REDUCTION(__reduce_min_sync, unsigned, reduce_min_unsigned)
SIMT_REDUCTION(__reduce_min_sync, int, reduce_min_signed)
SIMT_REDUCTION(__reduce_max_sync, unsigned, reduce_max_unsigned)
SIMT_REDUCTION(__reduce_max_sync, int, reduce_max_signed)
SIMT_REDUCTION(__reduce_and_sync, unsigned, reduce_and)
SIMT_REDUCTION(__reduce_or_sync, unsigned, reduce_or)
SIMT_REDUCTION(__reduce_xor_sync, unsigned, reduce_xor)
#undef SIMT_REDUCTION

namespace simt {
inline unsigned activemask(unsigned call, SIMT_CALLED_FROM) {
    return unsigned(collective(Operation::activemask, 0, call, 0, line, file));
}
}  // namespace simt

// Lanes that stand at the same call form the mask. A line can have two calls, so each gets a number.
#define __activemask() (::simt::activemask(__COUNTER__))

// NVIDIA removed these for sm_70 and later; a clear message rather than "not declared". A kernel may declare its own:
// any other overload is a better match than one of an ellipsis.
#define SIMT_REMOVED(NAME) void NAME(...) = delete;
SIMT_REMOVED(__shfl)
SIMT_REMOVED(__shfl_up)
SIMT_REMOVED(__shfl_down)
SIMT_REMOVED(__shfl_xor)
SIMT_REMOVED(__ballot)
SIMT_REMOVED(__any)
SIMT_REMOVED(__all)
#undef SIMT_REMOVED
