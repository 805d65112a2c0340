#pragma once
__device__ inline void barrierThere() { __syncthreads(); }
