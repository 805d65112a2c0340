extern "C" __global__ void gather(const int* index, const T* from, T* out)
{
    __shared__ T tile[1024]; tile[threadIdx.x] = from[threadIdx.x];
    const int at = index[blockIdx.x * 32 + threadIdx.x];
    if (at >= 0) {
        out[threadIdx.x] = tile[at];
        out[threadIdx.x] = from[at];
    }
}
