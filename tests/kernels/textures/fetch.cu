// One fetch for each thread, at coordinates that are given.
template <class T>
__global__ void fetch0(cudaTextureObject_t image, const float* at, T* out, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = tex1Dfetch<T>(image, int(at[i]));
}
template <class T>
__global__ void fetch1(cudaTextureObject_t image, const float* at, T* out, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = tex1D<T>(image, at[i]);
}
template <class T>
__global__ void fetch2(cudaTextureObject_t image, const float* at, T* out, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = tex2D<T>(image, at[2 * i], at[2 * i + 1]);
}
template <class T>
__global__ void fetch3(cudaTextureObject_t image, const float* at, T* out, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) tex3D(&out[i], image, at[3 * i], at[3 * i + 1], at[3 * i + 2]);
}
