// printf, assert, traps, launch bounds, what ends a program, and clocks.
#pragma once

namespace simt {

// Stands at the beginning of a kernel's body, with the number of threads that its `__launch_bounds__` allow.
SIMT_UNSEEN void require_bounds(unsigned allowed, SIMT_CALLED_FROM) {
    const dim3 size = block_size();
    const unsigned threads = size.x * size.y * size.z;
    if (__builtin_expect(threads > allowed, 0)) exceeds_bounds(threads, allowed, line, file);
}

}  // namespace simt

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

// A kernel's own heap (runtime/heap.cpp). A kernel's `new` gives null if it is full (-fcheck-new).
extern "C" {
void* malloc(size_t) noexcept __asm__("simt_malloc");
void free(void*) noexcept __asm__("simt_free");
}
void* operator new(size_t bytes) { return malloc(bytes); }
void* operator new[](size_t bytes) { return malloc(bytes); }
void operator delete(void* piece) noexcept { free(piece); }
void operator delete[](void* piece) noexcept { free(piece); }
void operator delete(void* piece, size_t) noexcept { free(piece); }
void operator delete[](void* piece, size_t) noexcept { free(piece); }
// Not for the runtime library, which would find them before those of C++. GCC ignores the attribute on them.
__asm__(".hidden _Znwm, _Znam, _ZdlPv, _ZdaPv, _ZdlPvm, _ZdaPvm");

// The CPU's counter. <time.h> has declared the other name, whose calls go there as well.
inline long long clock64() { return simt_clock(); }
extern "C" clock_t clock() noexcept __asm__("simt_clock");
