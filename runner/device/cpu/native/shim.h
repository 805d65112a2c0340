// Force-included before a kernel's `.cu`: makes CUDA C++ device code plain C++17.
//
// The standard headers come first: macros below (`__noinline__` for one) would break them, and a kernel's own #include of
// them then does nothing. Each header costs time for each variant of each kernel, even though the compiler gets this file
// precompiled (build.py).
#pragma once

#include <type_traits>
#include <utility>
#undef _GLIBCXX_USE_STD_SPEC_FUNCS  // std::riemann_zeta and the like: more text than all of the rest

#include <assert.h>
#include <fenv.h>
#include <float.h>
#include <limits.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <new>  // placement new, which nvcc declares, too
#include <cstdio>  // not <stdio.h>: the first <cstdio> undefines printf, which is ours from then on

#include "simt/suspend.h"

#include "cuda/language.h"
#include "cuda/vector_types.h"
#include "cuda/bits.h"
#include "cuda/warp.h"
#include "cuda/barrier.h"
#include "cuda/atomics.h"
#include "cuda/scoped_atomics.h"
#include "cuda/memory.h"
#include "cuda/integer.h"
#include "cuda/conversion.h"
#include "cuda/mathematics.h"
#include "cuda/rounding.h"
#include "cuda/special.h"
#include "cuda/simd.h"
#include "cuda/diagnostics.h"
#include "cuda/host_api.h"
#include "cuda/kernel.h"
#include "cuda/texture.h"

#ifdef SIMT_CHECKED  // compilers make instructions or calls of these that nobody sees
#include <cstring>
extern "C" {
void* __tsan_memcpy(void* to, const void* from, size_t bytes);
void* __tsan_memmove(void* to, const void* from, size_t bytes);
void* __tsan_memset(void* to, int value, size_t bytes);
}
namespace std {
using ::__tsan_memcpy;
using ::__tsan_memmove;
using ::__tsan_memset;
}  // namespace std
#define memcpy __tsan_memcpy
#define memmove __tsan_memmove
#define memset __tsan_memset
#endif

// Inline PTX cannot run here. Poisoned rather than defined away, so that only code that survives the kernel's own
// #ifdefs is refused, with the compiler's message at the kernel's own line.
#pragma GCC poison asm
