#pragma once
#include <string>
#include <library_of_the_author.h>
static library_handle handle;
inline void check(cudaError_t error) { if (error) throw std::string("failed"); }
__device__ __forceinline__ int index_of() { return blockIdx.x * blockDim.x + threadIdx.x; }
