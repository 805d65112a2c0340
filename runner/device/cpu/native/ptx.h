// The instructions of inline PTX that ptx.py knows, and that are no plain C++.
#pragma once

#include "half/bf16.h"
#include "libcu/copies.h"

namespace simt {
namespace ptx {

// An operand as a type of PTX: a number by its value, everything else by its bits.
template <class T, class Given>
inline T get(const Given& given) {
    if constexpr (std::is_integral<T>::value && (std::is_integral<Given>::value || std::is_enum<Given>::value)) {
        return T(given);
    } else if constexpr (std::is_floating_point<T>::value && std::is_integral<Given>::value && sizeof(T) != sizeof(Given)) {
        return T(given);
    } else {
        static_assert(sizeof(T) == sizeof(Given), "an operand of inline PTX has another size than the instruction's type");
        return bit_cast<T>(given);
    }
}
template <class Target, class T>
inline void set(Target& target, T value) { target = get<Target>(value); }

// A whole number in the range of an integer. That of NaN is 0, but the lowest bit pattern for 64 bits.
template <class Integer, class Float>
inline Integer to_integer(Float whole) {
    if (whole != whole && (sizeof(Integer) == 8 || sizeof(Float) == 8)) return Integer(1ull << (8 * sizeof(Integer) - 1));
    return saturate<Integer>(whole);
}

// Bit by bit what a table says of the bits of a, b and c.
inline uint32_t lop3(uint32_t a, uint32_t b, uint32_t c, uint32_t table) {
    uint32_t result = 0;
    for (int k = 0; k < 8; ++k) {
        if (table >> k & 1) result |= (k & 4 ? a : ~a) & (k & 2 ? b : ~b) & (k & 1 ? c : ~c);
    }
    return result;
}

// One or two numbers of 16 bits each, computed in double and rounded once.
template <class Format, class Bits, class Compute, class... Given>
inline Bits halves(Compute compute, Given... given) {
    Bits result = 0;
    for (unsigned shift = 0; shift < 8 * sizeof(Bits); shift += 16) {
        result |= Bits(encode<Format>(compute(double(Format::decode(uint16_t(given >> shift)))...))) << shift;
    }
    return result;
}

template <class T, int count>
struct Read {
    T values[count];
    explicit Read(const T* from) { for (int i = 0; i < count; ++i) values[i] = from[i]; }
};

// Loads and stores that other threads may make at the same time. A vector is as many accesses, in no order.
struct Volatile {
    template <class T>
    static T load(const T* from) { return *static_cast<const volatile T*>(from); }
    template <class T>
    static void store(T* to, T value) { *static_cast<volatile T*>(to) = value; }
};
template <int order, AtomicScope in_sight_of>
struct Atomic {
    template <class T>
    static T load(const T* from) {
        const InScope scope(in_sight_of);
        T value;
        __atomic_load(from, &value, order);
        return value;
    }
    template <class T>
    static void store(T* to, T value) {
        const InScope scope(in_sight_of);
        __atomic_store(to, &value, order);
    }
    template <class Change, class T>
    static T update(T* address, T value) {
        const InScope scope(in_sight_of);
        const T before = simt::update(address, [value](T old) { return Change::of(old, value); }, order);
        maybe_spinning(0, nullptr);
        return before;
    }
    template <class T>
    static T compare_and_swap(T* address, T expected, T desired) {
        constexpr int failed = order == __ATOMIC_RELEASE ? __ATOMIC_RELAXED : order == __ATOMIC_ACQ_REL ? __ATOMIC_ACQUIRE : order;
        const InScope scope(in_sight_of);
        T seen = expected;
        if (!__atomic_compare_exchange(address, &seen, &desired, false, order, failed)) maybe_spinning(0, nullptr);
        return seen;
    }
};
template <class Way, class T, int count>
struct ReadBy {
    T values[count];
    explicit ReadBy(const T* from) {
        maybe_spinning(0, nullptr);
        for (int i = 0; i < count; ++i) values[i] = Way::load(from + i);
    }
};

// What `atom` and `red` do to a value.
#define SIMT_OPERATION(NAME, VALUE)              \
    struct Operation_##NAME {                    \
        template <class T>                       \
        static T of([[maybe_unused]] T a, T b) { \
            return T(VALUE);                     \
        }                                        \
    };
SIMT_OPERATION(add, a + b)
SIMT_OPERATION(and, a & b)
SIMT_OPERATION(or, a | b)
SIMT_OPERATION(xor, a ^ b)
SIMT_OPERATION(min, b < a ? b : a)
SIMT_OPERATION(max, a < b ? b : a)
SIMT_OPERATION(inc, a >= b ? 0 : a + 1)
SIMT_OPERATION(dec, a == 0 || a > b ? b : a - 1)
SIMT_OPERATION(exch, b)
#undef SIMT_OPERATION

// A named barrier: `bar.sync` and `bar.arrive`. Without a number of threads, all of the block.
inline void bar_sync(uint32_t number, SIMT_CALLED_FROM) {
    if (number == 0) return __syncthreads(line, file);
    named_barrier(number, nullptr, true, line, file);
}
inline void bar_sync_of(uint32_t number, uint32_t threads, SIMT_CALLED_FROM) {
    if (number == 0 && threads == blockDim.x * blockDim.y * blockDim.z) return __syncthreads(line, file);
    named_barrier(number, &threads, true, line, file);
}
inline void bar_arrive_of(uint32_t number, uint32_t threads, SIMT_CALLED_FROM) {
    named_barrier(number, &threads, false, line, file);
}

static thread_local char shared_space;  // beside all shared variables

// Addresses of shared memory have 32 bits in PTX: the rest is that of the block's own memory.
template <class Given>
inline void* shared(Given given, long long offset) {
    if constexpr (sizeof(Given) == 8) {
        return reinterpret_cast<void*>(uint64_t(given) + offset);
    } else {
        const auto near = [&](const void* place) {
            return reinterpret_cast<char*>(uintptr_t(place)) + int32_t(uint32_t(given) - uint32_t(uintptr_t(place)));
        };
        char* const dynamic = near(current_lane->block->dynamic_shared);
        return (is_shared(dynamic) ? dynamic : near(&shared_space)) + offset;
    }
}
template <class Given>
inline void* generic(Given given, long long offset) {
    return reinterpret_cast<char*>(uintptr_t(given)) + offset;
}

inline void copy_async(void* to, const void* from, size_t room, size_t bytes, SIMT_CALLED_FROM) {
    if ((uintptr_t(to) | uintptr_t(from)) % room) {
        violation(line, file, "cp.async of %zu bytes: both addresses must be multiples of that", room);
    }
    copy_later(to, from, bytes < room ? bytes : room, bytes < room ? room - bytes : 0, nullptr);
}

inline void meet(int line, const char* file) { vote(Operation::syncwarp, all_lanes, 0, line, file); }

// A table on the first lane's stack, in which each lane has an entry. It lasts until all lanes have met twice.
template <class Entry>
inline Entry* shared_table(Entry* own, int line, const char* file) {
    return reinterpret_cast<Entry*>(uintptr_t(shuffle<Operation::shfl_idx>("a matrix instruction", all_lanes,
                                                                          uint64_t(uintptr_t(own)), 0, 32, line, file)));
}

struct Place {
    int line;
    const char* file;
    explicit Place(int line_ = __builtin_LINE(), const char* file_ = __builtin_FILE()) : line(line_), file(file_) {}
};

// ldmatrix: matrices of 8 x 8 elements of 16 bits. The lanes 8i to 8i + 7 name the rows of the matrix i.
template <bool transposed, class... Targets>
inline void load_matrices(Place place, const void* row, Targets&... targets) {
    const void* rows[32];
    const void** all = shared_table(rows, place.line, place.file);
    const int lane = int(current_lane->number);
    if (unsigned(lane) < 8 * sizeof...(targets) && uintptr_t(row) % 16) {
        violation(place.line, place.file, "ldmatrix: the address of a row is not a multiple of 16 bytes");
    }
    all[lane] = row;
    meet(place.line, place.file);
    int matrix = 0;
    const auto load = [&](auto& target) {
        uint16_t pair[2];
        for (int i = 0; i < 2; ++i) {
            const int of = transposed ? lane % 4 * 2 + i : lane / 4, column = transposed ? lane / 4 : lane % 4 * 2 + i;
            pair[i] = static_cast<const uint16_t*>(all[8 * matrix + of])[column];
        }
        ++matrix;
        return uint32_t(pair[0]) | uint32_t(pair[1]) << 16;
    };
    const uint32_t loaded[] = {load(targets)...};
    meet(place.line, place.file);
    int at = 0;
    (set(targets, loaded[at++]), ...);
}

// The elements of a register of a factor.
struct f16 {
    static constexpr int each = 2;
    static double of(uint32_t bits, int i) { return value_of(bit_cast<__half>(uint16_t(bits >> 16 * i))); }
};
struct bf16 {
    static constexpr int each = 2;
    static double of(uint32_t bits, int i) { return value_of(bit_cast<__nv_bfloat16>(uint16_t(bits >> 16 * i))); }
};
struct tf32 {
    static constexpr int each = 1;
    static double of(uint32_t bits, int) { return bit_cast<float>(bits & 0xffffe000u); }
};
struct s8 {
    static constexpr int each = 4;
    static double of(uint32_t bits, int i) { return int8_t(bits >> 8 * i); }
};
struct u8 {
    static constexpr int each = 4;
    static double of(uint32_t bits, int i) { return uint8_t(bits >> 8 * i); }
};

// mma.sync with 16 rows and 8 columns: `count` registers of the first factor, half as many of the second one. Each sum
// is rounded once; a GPU rounds more often.
template <class Factor, class Sum, int count>
struct Product {
    struct Registers { uint32_t a[count], b[count / 2]; };
    static constexpr int sums_each = std::is_same<Sum, uint32_t>::value ? 2 : 1;
    struct Given { uint32_t words[count + count / 2]; };
    struct Added { Sum values[4 / sums_each]; };
    Sum sums[4 / sums_each];

    Product(const Given& given, const Added& added, SIMT_CALLED_FROM) {
        Registers table[32];
        Registers* all = shared_table(table, line, file);
        const int lane = int(current_lane->number), group = lane / 4, member = lane % 4;
        memcpy(&all[lane], &given, sizeof given);
        meet(line, file);
        for (int i = 0; i < 4 / sums_each; ++i) sums[i] = added.values[i];
        for (int i = 0; i < 4; ++i) add(all, i, group + 8 * (i / 2), member * 2 + i % 2);
        meet(line, file);
    }

private:
    // The element k of a row or a column: its lane, register and place in it.
    void add(const Registers* all, int i, int row, int column) {
        double sum = 0;
        for (int k = 0; k < 4 * Factor::each * count / 2; ++k) {
            const int member = k / Factor::each % 4, half = k / (4 * Factor::each);
            const uint32_t a = all[row % 8 * 4 + member].a[row / 8 + 2 * half], b = all[column * 4 + member].b[half];
            sum += Factor::of(a, k % Factor::each) * Factor::of(b, k % Factor::each);
        }
        if constexpr (sums_each == 2) {
            uint16_t halves[2];
            memcpy(halves, &sums[i / 2], 4);
            halves[i % 2] = bit_cast<uint16_t>(__double2half(value_of(bit_cast<__half>(halves[i % 2])) + sum));
            memcpy(&sums[i / 2], halves, 4);
        } else {
            sums[i] = Sum(sums[i] + sum);
        }
    }
};

}  // namespace ptx
}  // namespace simt
