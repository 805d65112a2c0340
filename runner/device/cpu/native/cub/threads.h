// What all of CUB's functions here use: where a thread is, values of any size between lanes, and functors.
//
// Results that CUB leaves undefined are other ones in other orders of threads, so that a kernel which uses one is found.
// Barriers and shuffles count as those of the kernel's own line.
#pragma once

#include "../libcu/functional.h"

namespace simt {

// Where a kernel calls a function of CUB.
struct Call {
    int line;
    const char* file;
};
#define SIMT_CALL ::simt::Call call = {__builtin_LINE(), __builtin_FILE()}

inline void block_barrier(Call call) { ::__syncthreads(call.line, call.file); }

template <class T>
inline T undefined() {
    T value;
    const uint64_t bits = undefined_value(current_lane->block->order, current_lane->number);
    const size_t first = sizeof value == 2 ? 2 : 0;  // where those of a half are
    unsigned char* const bytes = reinterpret_cast<unsigned char*>(&value);
    for (size_t i = 0; i < sizeof value; ++i) bytes[i] = (unsigned char)(bits >> (8 * ((first + i) % 8)));
    return value;
}

// Storage that begins without a constructor's call, since it is shared.
template <class T, size_t count>
struct alignas(16) Storage {
    alignas(alignof(T)) unsigned char bytes[sizeof(T) * (count ? count : 1)];
    T& operator[](size_t i) { return reinterpret_cast<T*>(bytes)[i]; }
};

// The lanes of a warp that work together: all, or a part of them.
template <int threads>
struct Lanes {
    static_assert(threads >= 1 && threads <= 32, "a logical warp has 1 to 32 threads");
    static constexpr bool many = (threads & (threads - 1)) == 0;  // otherwise a warp has only one of them

    unsigned first, lane, mask;

    Lanes() {
        const unsigned number = current_lane->number;
        first = many ? number / threads * threads : 0;
        lane = number - first;
        mask = threads == 32 ? all_lanes : ((1u << threads % 32) - 1) << first;
    }

    // The value that one of them has. Of more than 8 bytes, in pieces.
    template <class T>
    T of(const char* name, const T& value, unsigned source, Call call) const {
        const unsigned from = first + source;
        if constexpr (sizeof(T) <= 8 && std::is_trivially_copyable<T>::value) {
            return shuffle<Operation::shfl_idx>(name, mask, value, from, 32, call.line, call.file);
        } else {
            T result = value;
            unsigned char* const bytes = reinterpret_cast<unsigned char*>(&result);
            for (size_t at = 0; at < sizeof(T); at += 8) {
                const size_t size = sizeof(T) - at < 8 ? sizeof(T) - at : 8;
                uint64_t piece = 0;
                memcpy(&piece, bytes + at, size);
                piece = shuffle<Operation::shfl_idx>(name, mask, piece, from, 32, call.line, call.file);
                memcpy(bytes + at, &piece, size);
            }
            return result;
        }
    }

    // The reduction of this lane and those behind it up to `last`; in the order of CUB's own shuffles.
    template <class T, class Op>
    T reduce(const char* name, T value, int last, Op op, Call call) const {
        for (unsigned offset = 1; offset < unsigned(threads); offset *= 2) {
            const bool inside = int(lane + offset) <= last;
            const T other = of(name, value, inside ? lane + offset : lane, call);
            if (inside) value = op(value, other);
        }
        return value;
    }

    template <class T, class Op>
    T inclusive_scan(const char* name, T value, Op op, Call call) const {
        for (unsigned offset = 1; offset < unsigned(threads); offset *= 2) {
            const T other = of(name, value, lane >= offset ? lane - offset : lane, call);
            if (lane >= offset) value = op(other, value);
        }
        return value;
    }
};

// A thread's number in a block that is x by y by z.
template <int x, int y, int z>
struct BlockOf {
    static constexpr int threads = x * y * z;
    static constexpr int warps = (threads + 31) / 32;

    static unsigned thread(const char* name, Call call) {
        const dim3& size = block_size();
        if (size.volume() != threads) {
            violation(call.line, call.file, "%s is for blocks of %d threads, but the block has %llu", name, threads,
                      size.volume());
        }
        const uint3& at = thread_index();
        return (at.z * y + at.y) * x + at.x;
    }
};

}  // namespace simt

namespace cub {

// In CUDA 13 they are cuda::std::plus<> and the like.
struct Sum : cuda::std::plus<> {};
struct Difference : cuda::std::minus<> {};
struct Division : cuda::std::divides<> {};
struct Max : cuda::maximum<> {};
struct Min : cuda::minimum<> {};
struct Equality : cuda::std::equal_to<> {};
struct Inequality : cuda::std::not_equal_to<> {};

struct NullType {};

// Stores all bytes, those of padding too, which a later copy of the whole reads.
template <class T>
inline void put(T& to, const T& value) {
    __builtin_memcpy(static_cast<void*>(&to), static_cast<const void*>(&value), sizeof(T));
}

template <class KeyT, class ValueT>
struct KeyValuePair {
    using Key = KeyT;
    using Value = ValueT;
    KeyT key;
    ValueT value;
    KeyValuePair() = default;
    KeyValuePair(const KeyT& k, const ValueT& v) : key(k), value(v) {}
};

// The pair with the larger, or smaller, value; of equal ones, that with the smaller key.
struct ArgMax {
    template <class K, class V>
    KeyValuePair<K, V> operator()(const KeyValuePair<K, V>& a, const KeyValuePair<K, V>& b) const {
        return b.value > a.value || (a.value == b.value && b.key < a.key) ? b : a;
    }
};
struct ArgMin {
    template <class K, class V>
    KeyValuePair<K, V> operator()(const KeyValuePair<K, V>& a, const KeyValuePair<K, V>& b) const {
        return b.value < a.value || (a.value == b.value && b.key < a.key) ? b : a;
    }
};

template <class T, int items, class Op>
inline T ThreadReduce(T (&input)[items], Op op) {
    T total = input[0];
    for (int i = 1; i < items; ++i) total = op(total, input[i]);
    return total;
}

inline unsigned LaneId() { return simt::current_lane->number; }
inline unsigned WarpId() { return simt::current_lane->warp->number; }
inline int RowMajorTid(int x, int y, int) {
    const uint3& at = simt::thread_index();
    return int((at.z * unsigned(y) + at.y) * unsigned(x) + at.x);
}

}  // namespace cub
