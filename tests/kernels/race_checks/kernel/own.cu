__global__ void honest(const int* in, int* out, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = in[i] + 1;
}

__global__ void lastBlock(const int* in, int* out, int* partial, unsigned* finished, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (threadIdx.x == 0) partial[blockIdx.x] = 0;
    __syncthreads();
    if (i < n) atomicAdd(&partial[blockIdx.x], in[i]);
    __syncthreads();
    if (threadIdx.x == 0 && atomicInc(finished, gridDim.x - 1) == gridDim.x - 1) {
        int sum = 0;
        for (unsigned b = 0; b < gridDim.x; ++b) sum += partial[b]; // UNFENCED
        out[0] = sum;
    }
}

__global__ void leftover(const int* in, int* out, int* junk, int n)
{
    __shared__ int tile[65];
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    tile[threadIdx.x] = i < n ? in[i] : 0;
    __syncthreads();
    if (i < n) out[i] = tile[threadIdx.x] + 1;
    if (i < n) junk[i] = tile[threadIdx.x + 1]; // UNWRITTEN
}

__global__ void reversed(const int* in, int* out, int n)
{
    __shared__ int tile[64];
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    tile[threadIdx.x] = in[i]; // STORED
    out[i] = tile[63 - threadIdx.x]; // LOADED
}

__global__ void sameValue(const int* in, int* out, int* seen, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = in[i] + 1;
    if (i < n && in[i] >= 0) *seen = 1;
}
