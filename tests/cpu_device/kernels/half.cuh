// What half.cu and half_pairs.cu share. They are compiled once for each format.
#pragma once
#include <cuda_fp16.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#ifndef FORMAT  // or bfloat16, __nv_bfloat16, __nv_bfloat162
#define FORMAT half
#define NUMBER __half
#define PAIR __half2
#endif

// Functions have the format in their names, such as PASTE(__float2, FORMAT, _rn).
#define PASTE_(a, b, c) a##b##c
#define PASTE(a, b, c) PASTE_(a, b, c)

__device__ inline int thread() { return blockIdx.x * blockDim.x + threadIdx.x; }
__device__ inline unsigned bits(NUMBER a) { return PASTE(__, FORMAT, _as_ushort)(a); }
__device__ inline unsigned bits(PAIR a) { return bits(a.x) | bits(a.y) << 16; }
