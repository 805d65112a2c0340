// Kernels whose verdict depends on what their check would let through (tests/test_power.py). `which` is the defect; 0: none.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

// Each row's softmax. 1: the sum covers half of the row; 2: zeros; 3: the sum lacks the last element.
extern "C" __global__ void softmax(const SCALAR* in, SCALAR* out, int n, int which)
{
    in += blockIdx.x * n;
    out += blockIdx.x * n;
    float most = -1e30f, sum = 0.0f;
    for (int i = 0; i < n; ++i) most = fmaxf(most, (float)in[i]);
    for (int i = 0; i < (which == 1 ? n / 2 : n - (which == 3)); ++i) sum += expf((float)in[i] - most);
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        out[i] = (SCALAR)(which == 2 ? 0.0f : expf((float)in[i] - most) / sum);
}

// Each row's sum. 1: half of the row; 2: added in the half type; 3: products rounded to it, added in float.
extern "C" __global__ void rowSums(const SCALAR* in, SCALAR* out, int n, int which)
{
    in += blockIdx.x * n;
    if (threadIdx.x) return;
    float sum = 0.0f;
    SCALAR narrow = (SCALAR)0.0f;
    for (int i = 0; i < (which == 1 ? n / 2 : n); ++i) {
        const SCALAR square = in[i] * in[i];
        narrow = narrow + square;
        sum += which == 3 ? (float)square : (float)in[i] * (float)in[i];
    }
    out[blockIdx.x] = which == 2 ? narrow : (SCALAR)sum;
}

// a * in + b in the half type: rounded after the product and after the sum. 1: another b.
extern "C" __global__ void scaled(const SCALAR* in, SCALAR* out, int n, int which)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = in[i] * (SCALAR)0.3f + (SCALAR)(which == 1 ? 0.6f : 0.5f);
}

extern "C" __global__ void copied(const SCALAR* in, SCALAR* out, int n, int which)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && which == 0) out[i] = in[i];
}
