// The second file of a pipeline, which was a program of its own: it has a main, and names of the first file.
#include <cstdio>
#include "scale.cuh"

__constant__ float weights[2];
__device__ int passes;

__device__ float helper(float x) { return x * FACTOR; }

__global__ void step(float* data, int* counted, int n)
{
    const int i = blockIdx.x * BLOCK + threadIdx.x;
    if (i < n) data[i] = helper(data[i]) * weights[i % 2];
    if (i == 0) passes = 1, *counted = passes;
}

int main()
{
    float* data;
    cudaMalloc(&data, 4 * BLOCK);
    step<<<1, BLOCK>>>(data, nullptr, BLOCK);
    std::printf("%d\n", cudaGetLastError());
}
