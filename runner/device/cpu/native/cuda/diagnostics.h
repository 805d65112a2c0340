// printf, assert, traps, what ends a program, and clocks.
#pragma once

#define printf(...) (::simt::print(__VA_ARGS__))

// <assert.h> may be included again after this file, and then defines `assert` anew; the name it calls stays ours.
#define __assert_fail simt_assertion_failed

// These would end the whole process. nvcc refuses a kernel that calls them, and so does this, at the kernel's own line.
// clang++ accepts the attribute `error` on a function's first declaration only, and that is in <stdlib.h>.
#ifdef __clang__
#define SIMT_REFUSE(message) diagnose_if(true, message, "error")
#else
#define SIMT_REFUSE(message) error(message)
#endif
#define SIMT_HOST_ONLY __attribute__((noreturn, SIMT_REFUSE("a function of the host, which a kernel cannot call")))
extern "C" {
SIMT_HOST_ONLY void exit(int) noexcept;
SIMT_HOST_ONLY void _Exit(int) noexcept;
SIMT_HOST_ONLY void quick_exit(int) noexcept;
SIMT_HOST_ONLY void abort() noexcept;
}
#undef SIMT_HOST_ONLY
#undef SIMT_REFUSE

inline void __trap(SIMT_CALLED_FROM) { simt::violation(line, file, "__trap() was called"); }
inline void __brkpt() {}
inline void __nanosleep(unsigned) {}
inline void __prof_trigger(int) {}
#define __builtin_assume(condition) ((void)0)
#define __assume(condition) ((void)0)

// The CPU's counter. <time.h> has declared the other name, whose calls go there as well.
inline long long clock64() { return simt_clock(); }
extern "C" clock_t clock() noexcept __asm__("simt_clock");
