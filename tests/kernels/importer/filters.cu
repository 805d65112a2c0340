#include <vector>
#ifndef ROUNDS
#define ROUNDS 2
#endif
__constant__ float weights[TAPS][4];
__device__ float weight(int k) { return weights[k % TAPS][0]; }
namespace filters {
template <typename T, int tile = 4, bool twice>
__global__ void smooth(T* out, const T* __restrict__ in, float* sums, int* flags, float2* pairs, int n, int stride, T factor)
{
    extern __shared__ T rows[];
    const int i = blockIdx.x * LINE + threadIdx.x;
    rows[threadIdx.x] = in[i * stride];
    for (int k = 0; k < ROUNDS; ++k) sums[i] += weight(k) * tile;
    const float2 pair = pairs[i];
    if (flags[i] == 0 && i < n && FLT_MAX > pair.x) out[i] = rows[threadIdx.x] * factor;
}
}
__global__ void plane(float* out, const float* in, int width, int height)
{
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < width && y < height) out[y * width + x] = 2 * in[y * width + x];
}
__global__ void copied(const cudaTextureObject_t from, cudaSurfaceObject_t to)
{
    surf1Dwrite(tex1D<float>(from, threadIdx.x), to, 4 * threadIdx.x);
}
int main()
{
    const int n = 10, rows = n / 5;  // of 5
    dim3 blocks(rows, 4);
    filters::smooth<float, 8, true><<<blocks, 32>>>(0, 0, 0, 0, 0, n, 1, 2.0f);
}
