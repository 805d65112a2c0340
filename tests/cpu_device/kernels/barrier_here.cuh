#pragma once
__device__ inline void barrierHere() { __syncthreads(); }
