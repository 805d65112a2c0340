// Integer intrinsics.
#pragma once

inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
inline int __ffs(int x) { return __builtin_ffs(x); }
inline int __ffsll(long long x) { return __builtin_ffsll(x); }
inline int __clz(int x) { return x ? __builtin_clz(unsigned(x)) : 32; }
inline int __clzll(long long x) { return x ? __builtin_clzll((unsigned long long)x) : 64; }

inline unsigned __brev(unsigned x) {
    x = (x >> 1 & 0x55555555u) | (x & 0x55555555u) << 1;
    x = (x >> 2 & 0x33333333u) | (x & 0x33333333u) << 2;
    x = (x >> 4 & 0x0f0f0f0fu) | (x & 0x0f0f0f0fu) << 4;
    return __builtin_bswap32(x);
}
inline unsigned long long __brevll(unsigned long long x) {
    return (unsigned long long)__brev(unsigned(x)) << 32 | __brev(unsigned(x >> 32));
}

// The position of the n-th set bit of `mask`, counted from bit `base` upwards, or downwards if n is negative; for n = 0,
// of `base` itself. All bits if there is none.
inline unsigned __fns(unsigned mask, unsigned base, int n) {
    int left = n < 0 ? -n : n ? n : 1;
    for (unsigned at = base; at < 32; at += n < 0 ? -1 : 1) {
        if ((mask >> at & 1) && --left == 0) return at;
        if (n == 0) break;
    }
    return 0xffffffffu;
}

// Four bytes picked from the eight of `low` and `high`: a hex digit each of the selector; its bit 3 is ignored here.
inline unsigned __byte_perm(unsigned low, unsigned high, unsigned selector) {
    const uint64_t bytes = uint64_t(high) << 32 | low;
    unsigned picked = 0;
    for (int i = 0; i < 4; ++i) {
        const unsigned which = selector >> (4 * i) & 7;
        picked |= unsigned(bytes >> (8 * which) & 0xff) << (8 * i);
    }
    return picked;
}

inline unsigned __funnelshift_l(unsigned low, unsigned high, unsigned shift) {
    return unsigned(((uint64_t(high) << 32 | low) << (shift & 31)) >> 32);
}
inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift) {
    return unsigned((uint64_t(high) << 32 | low) >> (shift & 31));
}
inline unsigned __funnelshift_lc(unsigned low, unsigned high, unsigned shift) {
    return shift >= 32 ? low : __funnelshift_l(low, high, shift);
}
inline unsigned __funnelshift_rc(unsigned low, unsigned high, unsigned shift) {
    return shift >= 32 ? high : __funnelshift_r(low, high, shift);
}

namespace simt {
inline int sign_extend_24(int x) { return int(unsigned(x) << 8) >> 8; }
}  // namespace simt

inline int __mul24(int a, int b) {
    return int(unsigned(simt::sign_extend_24(a)) * unsigned(simt::sign_extend_24(b)));
}
inline unsigned __umul24(unsigned a, unsigned b) { return (a & 0xffffffu) * (b & 0xffffffu); }
inline int __mulhi(int a, int b) { return int((long long)a * b >> 32); }
inline unsigned __umulhi(unsigned a, unsigned b) { return unsigned((unsigned long long)a * b >> 32); }
inline long long __mul64hi(long long a, long long b) { return (long long)((__int128)a * b >> 64); }
inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
    return (unsigned long long)((unsigned __int128)a * b >> 64);
}

inline unsigned __usad(unsigned a, unsigned b, unsigned sum) { return (a < b ? b - a : a - b) + sum; }
inline unsigned __sad(int a, int b, unsigned sum) {
    return (a < b ? unsigned(b) - unsigned(a) : unsigned(a) - unsigned(b)) + sum;
}

// Averages without overflow: rounded down, and (the r forms) rounded up.
inline int __hadd(int a, int b) { return int(((long long)a + b) >> 1); }
inline int __rhadd(int a, int b) { return int(((long long)a + b + 1) >> 1); }
inline unsigned __uhadd(unsigned a, unsigned b) { return unsigned(((unsigned long long)a + b) >> 1); }
inline unsigned __urhadd(unsigned a, unsigned b) { return unsigned(((unsigned long long)a + b + 1) >> 1); }
