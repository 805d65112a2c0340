// cuRAND's device functions for Philox4_32_10 and XORWOW: the same numbers for the same seed, subsequence and offset.
//
// Philox: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011.
// XORWOW: Marsaglia, "Xorshift RNGs", Journal of Statistical Software 8 (2003). A subsequence is 2^67 numbers long.
//
// States have CUDA's size and fields. Normal numbers are made as cuRAND makes them, by Box and Muller, but with the host's
// logarithm and sine: they differ in the last places from a GPU's, whose sine there is a fast one.
#pragma once

struct curandStateXORWOW {
    unsigned d, v[5];
    int boxmuller_flag, boxmuller_flag_double;
    float boxmuller_extra;
    double boxmuller_extra_double;
};
struct curandStatePhilox4_32_10 {
    uint4 ctr, output;
    uint2 key;
    unsigned STATE;  // which of `output` comes next
    int boxmuller_flag, boxmuller_flag_double;
    float boxmuller_extra;
    double boxmuller_extra_double;
};
using curandStateXORWOW_t = curandStateXORWOW;
using curandStatePhilox4_32_10_t = curandStatePhilox4_32_10;
using curandState = curandStateXORWOW;
using curandState_t = curandStateXORWOW;

namespace simt {

// XORWOW's five words as a vector of 160 bits. A step is a matrix, of which we keep each column; so are 2^i steps.
struct Xorshift {
    static constexpr int bits = 160, words = 5;
    static constexpr int subsequence = 67;  // log2 of its length
    static constexpr int powers = subsequence + 64;
    using Vector = uint32_t[words];
    using Matrix = Vector[bits];

    static void step(Vector& v) {
        const uint32_t t = v[0] ^ v[0] >> 2;
        for (int i = 0; i < 4; ++i) v[i] = v[i + 1];
        v[4] = (v[4] ^ v[4] << 4) ^ (t ^ t << 1);
    }

    static void apply(const Matrix& matrix, Vector& v) {
        Vector result = {};
        for (int bit = 0; bit < bits; ++bit) {
            if (!(v[bit / 32] >> (bit % 32) & 1)) continue;
            for (int i = 0; i < words; ++i) result[i] ^= matrix[bit][i];
        }
        for (int i = 0; i < words; ++i) v[i] = result[i];
    }

    // Several OS threads may fill in the table at once: they write the same.
    static const Matrix* power_table() {
        static Matrix table[powers];
        static int is_full = 0;
        if (__atomic_load_n(&is_full, __ATOMIC_ACQUIRE)) return table;
        for (int power = 0; power < powers; ++power) {
            for (int bit = 0; bit < bits; ++bit) {
                Vector column = {};
                if (power) {
                    for (int i = 0; i < words; ++i) column[i] = table[power - 1][bit][i];
                    apply(table[power - 1], column);
                } else {
                    column[bit / 32] = 1u << (bit % 32);
                    step(column);
                }
                for (int i = 0; i < words; ++i) table[power][bit][i] = column[i];
            }
        }
        __atomic_store_n(&is_full, 1, __ATOMIC_RELEASE);
        return table;
    }

    __attribute__((noinline)) static void skip(Vector& v, unsigned long long count, int power) {
        for (; count; count >>= 1, ++power) {
            if (count & 1) apply(power_table()[power], v);
        }
    }
};

__attribute__((noinline)) inline uint4 philox(uint4 counter, uint2 key) {
    for (int round = 0; round < 10; ++round) {
        const uint64_t first = uint64_t(0xd2511f53u) * counter.x, second = uint64_t(0xcd9e8d57u) * counter.z;
        counter = {unsigned(second >> 32) ^ counter.y ^ key.x, unsigned(second),
                   unsigned(first >> 32) ^ counter.w ^ key.y, unsigned(first)};
        key.x += 0x9e3779b9u;
        key.y += 0xbb67ae85u;
    }
    return counter;
}

inline void advance(curandStatePhilox4_32_10* state, unsigned long long low, unsigned long long high) {
    uint4& c = state->ctr;
    unsigned __int128 counter = (unsigned __int128)(uint64_t(c.w) << 32 | c.z) << 64 | (uint64_t(c.y) << 32 | c.x);
    counter += (unsigned __int128)high << 64 | low;
    c = {unsigned(counter), unsigned(counter >> 32), unsigned(counter >> 64), unsigned(counter >> 96)};
    state->output = philox(c, state->key);
}

// Open at 0, closed at 1.
inline float uniform(unsigned x) { return float(x) * 0x1p-32f + 0x1p-33f; }
inline double uniform_double(unsigned x) { return x * 0x1p-32 + 0x1p-32; }
inline double uniform_double(unsigned x, unsigned y) { return double(x ^ uint64_t(y) << 21) * 0x1p-53 + 0x1p-54; }

inline float2 normal_pair(unsigned x, unsigned y) {
    constexpr float angle = 0x1p-32f * 6.2831855f;
    const float length = sqrtf(-2.0f * logf(uniform(x))), direction = float(y) * angle + angle / 2;
    return {length * sinf(direction), length * cosf(direction)};
}
inline double2 normal_pair_double(uint4 x) {
    const double length = sqrt(-2.0 * log(uniform_double(x.x, x.y)));
    const double half_turns = double(x.z ^ uint64_t(x.w) << 21) * 0x1p-52 + 0x1p-53;
    return {length * sinpi(half_turns), length * cospi(half_turns)};
}

constexpr int normal_is_kept = 1, log_normal_is_kept = 2;  // in a state's flags

// The first of two numbers; the second one is kept for the next call.
template <class Number, class Make>
inline Number first_of_pair(int* flag, Number* kept, int kind, Make make) {
    if (*flag == kind) {
        *flag = 0;
        return *kept;
    }
    const auto pair = make();
    *kept = pair.y;
    *flag = kind;
    return pair.x;
}

}  // namespace simt

inline void skipahead(unsigned long long count, curandStateXORWOW* state) {
    simt::Xorshift::skip(state->v, count, 0);
    state->d += 362437u * unsigned(count);
}
inline void skipahead_sequence(unsigned long long count, curandStateXORWOW* state) {
    simt::Xorshift::skip(state->v, count, simt::Xorshift::subsequence);
}
inline void skipahead(unsigned long long count, curandStatePhilox4_32_10* state) {
    const unsigned next = state->STATE + unsigned(count & 3);
    state->STATE = next & 3;
    simt::advance(state, (count >> 2) + (next >> 2), 0);
}
inline void skipahead_sequence(unsigned long long count, curandStatePhilox4_32_10* state) {
    simt::advance(state, 0, count);
}

inline void curand_init(unsigned long long seed, unsigned long long subsequence, unsigned long long offset,
                        curandStateXORWOW* state) {
    // How cuRAND spreads a seed over Marsaglia's initial values.
    const unsigned low = 1099087573u * (unsigned(seed) ^ 0xaad26b49u);
    const unsigned high = 2591861531u * (unsigned(seed >> 32) ^ 0xf7dcefddu);
    *state = {6615241u + high + low,
              {123456789u + low, 362436069u ^ low, 521288629u + high, 88675123u ^ high, 5783321u + low}, 0, 0, 0, 0};
    skipahead_sequence(subsequence, state);
    skipahead(offset, state);
}
inline void curand_init(unsigned long long seed, unsigned long long subsequence, unsigned long long offset,
                        curandStatePhilox4_32_10* state) {
    *state = {{0, 0, 0, 0}, {0, 0, 0, 0}, {unsigned(seed), unsigned(seed >> 32)}, 0, 0, 0, 0, 0};
    skipahead_sequence(subsequence, state);
    skipahead(offset, state);
}

inline unsigned curand(curandStateXORWOW* state) {
    simt::Xorshift::step(state->v);
    state->d += 362437u;
    return state->v[4] + state->d;
}
inline unsigned curand(curandStatePhilox4_32_10* state) {
    const unsigned next[] = {state->output.x, state->output.y, state->output.z, state->output.w};
    const unsigned result = next[state->STATE & 3];
    skipahead(1, state);
    return result;
}
inline uint4 curand4(curandStatePhilox4_32_10* state) {
    const uint4 now = state->output;
    simt::advance(state, 1, 0);
    const uint4 later = state->output;
    const unsigned both[] = {now.x, now.y, now.z, now.w, later.x, later.y, later.z};
    const unsigned* const first = both + (state->STATE & 3);
    return {first[0], first[1], first[2], first[3]};
}

inline double curand_uniform_double(curandStatePhilox4_32_10* state) { return simt::uniform_double(curand(state)); }
inline double curand_uniform_double(curandStateXORWOW* state) {
    const unsigned x = curand(state), y = curand(state);
    return simt::uniform_double(x, y);
}
inline float4 curand_uniform4(curandStatePhilox4_32_10* state) {
    const uint4 x = curand4(state);
    return {simt::uniform(x.x), simt::uniform(x.y), simt::uniform(x.z), simt::uniform(x.w)};
}
inline double2 curand_uniform2_double(curandStatePhilox4_32_10* state) {
    const uint4 x = curand4(state);
    return {simt::uniform_double(x.x, x.y), simt::uniform_double(x.z, x.w)};
}
inline float4 curand_normal4(curandStatePhilox4_32_10* state) {
    const uint4 x = curand4(state);
    const float2 first = simt::normal_pair(x.x, x.y), second = simt::normal_pair(x.z, x.w);
    return {first.x, first.y, second.x, second.y};
}
inline double2 curand_normal2_double(curandStatePhilox4_32_10* state) { return simt::normal_pair_double(curand4(state)); }
inline double2 curand_normal2_double(curandStateXORWOW* state) {
    const unsigned x = curand(state), y = curand(state), z = curand(state), w = curand(state);
    return simt::normal_pair_double({x, y, z, w});
}
inline float4 curand_log_normal4(curandStatePhilox4_32_10* state, float mean, float deviation) {
    const float4 x = curand_normal4(state);
    return {expf(mean + deviation * x.x), expf(mean + deviation * x.y), expf(mean + deviation * x.z),
            expf(mean + deviation * x.w)};
}

#define SIMT_DISTRIBUTIONS(STATE)                                                                                   \
    inline float curand_uniform(STATE* state) { return simt::uniform(curand(state)); }                              \
    inline float2 curand_normal2(STATE* state) {                                                                    \
        const unsigned x = curand(state), y = curand(state);                                                        \
        return simt::normal_pair(x, y);                                                                             \
    }                                                                                                               \
    inline float2 curand_log_normal2(STATE* state, float mean, float deviation) {                                   \
        const float2 x = curand_normal2(state);                                                                     \
        return {expf(mean + deviation * x.x), expf(mean + deviation * x.y)};                                        \
    }                                                                                                               \
    inline double2 curand_log_normal2_double(STATE* state, double mean, double deviation) {                         \
        const double2 x = curand_normal2_double(state);                                                             \
        return {exp(mean + deviation * x.x), exp(mean + deviation * x.y)};                                          \
    }                                                                                                               \
    inline float curand_normal(STATE* state) {                                                                      \
        return simt::first_of_pair(&state->boxmuller_flag, &state->boxmuller_extra, simt::normal_is_kept,           \
                                   [=] { return curand_normal2(state); });                                          \
    }                                                                                                               \
    inline double curand_normal_double(STATE* state) {                                                              \
        return simt::first_of_pair(&state->boxmuller_flag_double, &state->boxmuller_extra_double,                   \
                                   simt::normal_is_kept, [=] { return curand_normal2_double(state); });             \
    }                                                                                                               \
    inline float curand_log_normal(STATE* state, float mean, float deviation) {                                     \
        return simt::first_of_pair(&state->boxmuller_flag, &state->boxmuller_extra, simt::log_normal_is_kept,       \
                                   [=] { return curand_log_normal2(state, mean, deviation); });                     \
    }                                                                                                               \
    inline double curand_log_normal_double(STATE* state, double mean, double deviation) {                           \
        return simt::first_of_pair(&state->boxmuller_flag_double, &state->boxmuller_extra_double,                   \
                                   simt::log_normal_is_kept,                                                        \
                                   [=] { return curand_log_normal2_double(state, mean, deviation); });              \
    }
SIMT_DISTRIBUTIONS(curandStateXORWOW)
SIMT_DISTRIBUTIONS(curandStatePhilox4_32_10)
#undef SIMT_DISTRIBUTIONS
