extern "C" __global__ void outside(const int* in, int* out)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = in[i + 1];
}
extern "C" __global__ void race(const int* in, int* out)
{
    __shared__ int tile[64];
    tile[threadIdx.x] = in[threadIdx.x];
    out[threadIdx.x] = tile[63 - threadIdx.x];
}
extern "C" __global__ void unwritten(const int* in, int* out)
{
    out[threadIdx.x] = out[63 - threadIdx.x] + in[threadIdx.x];
}
extern "C" __global__ void barrier(const int* in, int* out)
{
    __shared__ int tile[64];
    tile[threadIdx.x] = in[threadIdx.x];
    if (threadIdx.x % 2 == 0) {
        __syncthreads();
    } else {
        __syncthreads();
    }
    out[threadIdx.x] = tile[63 - threadIdx.x];
}
extern "C" __global__ void fine(const int* in, int* out)
{
    out[threadIdx.x] = in[threadIdx.x];
}
