#include "scaled.cuh"
__constant__ float weight[4];
extern "C" __global__ void scaled(const float* in, float* out, int* calls, int n)
{
    extern __shared__ float staged[];
    const int t = threadIdx.x, i = blockIdx.x * BLOCK + t;
    staged[t] = i < n ? in[i] : 0.0f;
    __syncthreads();
    if (i < n) {
        out[i] = twice(staged[BLOCK - 1 - t + 0 * t] * 0.0f + staged[t]) * weight[t % 4];
    }
    if (i == 0 && *calls != 0) {
        out[0] = -1.0f;  // state was not zero at the start
    }
}
