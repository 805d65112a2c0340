// __nv_bfloat16 and __nv_bfloat162: the upper half of a float.
#pragma once

#include "fp16.h"  // as in CUDA's header

#define SIMT_NUMBER __nv_bfloat16
#define SIMT_RAW __nv_bfloat16_raw
#define SIMT_PAIR __nv_bfloat162
#define SIMT_PAIR_RAW __nv_bfloat162_raw
#define SIMT_OTHER_NUMBER __half
#define SIMT_FORMAT simt::Bfloat16
#include "number.h"
#include "pair.h"
#undef SIMT_NUMBER
#undef SIMT_RAW
#undef SIMT_PAIR
#undef SIMT_PAIR_RAW
#undef SIMT_OTHER_NUMBER
#undef SIMT_FORMAT

using nv_bfloat16 = __nv_bfloat16;
using nv_bfloat162 = __nv_bfloat162;

SIMT_WITH_CONVERSIONS(bfloat16, __nv_bfloat16, __nv_bfloat162, simt::Bfloat16)

inline __half::__half(__nv_bfloat16 x) : __half(float(x)) {}
inline __nv_bfloat16::__nv_bfloat16(__half x) : __nv_bfloat16(float(x)) {}

#define CUDART_ZERO_BF16 __ushort_as_bfloat16(0x0000)
#define CUDART_NEG_ZERO_BF16 __ushort_as_bfloat16(0x8000)
#define CUDART_ONE_BF16 __ushort_as_bfloat16(0x3f80)
#define CUDART_INF_BF16 __ushort_as_bfloat16(0x7f80)
#define CUDART_NAN_BF16 __ushort_as_bfloat16(0x7fff)
#define CUDART_MAX_NORMAL_BF16 __ushort_as_bfloat16(0x7f7f)
#define CUDART_MIN_DENORM_BF16 __ushort_as_bfloat16(0x0001)
