#pragma once
// Dynamic shared memory in a header; the declaration below in a comment is not one: extern __shared__ int s[];
__device__ inline int reversed(int i) {
    extern __shared__ int numbers[];
    numbers[i] = i * 10;
    __syncthreads();
    return numbers[blockDim.x - 1 - i];
}
