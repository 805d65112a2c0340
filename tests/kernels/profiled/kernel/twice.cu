__global__ void twice(const float* in, float* out)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = 2.0f * in[i];
}
template <class T> __device__ T doubled(T v) { return v + v; }
namespace second { __global__ void again(const float* in, float* out)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = doubled(in[i]);
} }
