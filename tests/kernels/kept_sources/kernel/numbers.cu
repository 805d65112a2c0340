#define HEADER "number.cuh"
#include HEADER
extern "C" __global__ void numbers(int* y, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = i + NUMBER;
}
