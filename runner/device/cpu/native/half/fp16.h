// __half and __half2: IEEE 754's binary16.
#pragma once

#include "format.h"
#include "integers.h"

struct __nv_bfloat16;  // for the conversion, which cuda_bf16.h defines

#define SIMT_NUMBER __half
#define SIMT_RAW __half_raw
#define SIMT_PAIR __half2
#define SIMT_PAIR_RAW __half2_raw
#define SIMT_OTHER_NUMBER __nv_bfloat16
#define SIMT_FORMAT simt::Binary16
#include "number.h"
#include "pair.h"
#undef SIMT_NUMBER
#undef SIMT_RAW
#undef SIMT_PAIR
#undef SIMT_PAIR_RAW
#undef SIMT_OTHER_NUMBER
#undef SIMT_FORMAT

using half = __half;
using half2 = __half2;
using nv_half = __half;
using nv_half2 = __half2;
using __nv_half = __half;
using __nv_half2 = __half2;
using __nv_half_raw = __half_raw;
using __nv_half2_raw = __half2_raw;

SIMT_WITH_CONVERSIONS(half, __half, __half2, simt::Binary16)

#define CUDART_ZERO_FP16 __ushort_as_half(0x0000)
#define CUDART_NEG_ZERO_FP16 __ushort_as_half(0x8000)
#define CUDART_ONE_FP16 __ushort_as_half(0x3c00)
#define CUDART_INF_FP16 __ushort_as_half(0x7c00)
#define CUDART_NAN_FP16 __ushort_as_half(0x7fff)
#define CUDART_MAX_NORMAL_FP16 __ushort_as_half(0x7bff)
#define CUDART_MIN_DENORM_FP16 __ushort_as_half(0x0001)
