// printf, assert, traps and clocks.
#pragma once

#define printf(...) (::simt::print(__VA_ARGS__))

// <assert.h> may be included again after this file, and then defines `assert` anew; the name it calls stays ours.
#define __assert_fail simt_assertion_failed

inline void __trap(SIMT_CALLED_FROM) { simt::violation(line, file, "__trap() was called"); }
inline void __brkpt() {}
inline void __nanosleep(unsigned) {}
#define __builtin_assume(condition) ((void)0)

inline long long clock64() {
#if defined(__x86_64__)
    return (long long)__builtin_ia32_rdtsc();
#elif defined(__aarch64__)
    long long ticks;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
    return ticks;
#else
    return 0;
#endif
}
