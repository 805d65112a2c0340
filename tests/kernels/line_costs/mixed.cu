#include "mixed.cuh"
__constant__ float weights[32];
extern "C" __global__ void mixed(const float4* in, float* out, unsigned* bins, int n)
{
    const int i = blockIdx.x * 64 + threadIdx.x;
    if (i < n) {
        const float4 v = in[i];
        out[i] = v.x + weights[threadIdx.x % 32];
    }
    if (threadIdx.x % 2) {
        atomicAdd(&bins[threadIdx.x / 8], 1u);
    }
    for (int k = 0; k < threadIdx.x % 4; ++k)
        out[i] = twice(out, i);
}
