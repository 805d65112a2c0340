__global__ void sumBlocks(const float* in, float* out, int n)
{
    __shared__ float s[BLOCK];
    const int i = blockIdx.x * BLOCK + threadIdx.x;
    s[threadIdx.x] = i < n ? in[i] : 0.0f;
    __syncthreads();
    for (int d = BLOCK / 2; d; d /= 2) {
        if (threadIdx.x < d) s[threadIdx.x] += s[threadIdx.x + d];
        __syncthreads();
    }
    if (threadIdx.x == 0) out[blockIdx.x] = s[0];
}

// Two functions share a variable of the module.
__device__ int passes;
__global__ void scanBlocks(int* data, int* sums, int n)
{
    extern __shared__ int t[];
    const int i = blockIdx.x * BLOCK + threadIdx.x;
    t[threadIdx.x] = i < n ? data[i] : 0;
    __syncthreads();
    for (int d = 1; d < BLOCK; d *= 2) {
        const int left = threadIdx.x >= d ? t[threadIdx.x - d] : 0;
        __syncthreads();
        t[threadIdx.x] += left;
        __syncthreads();
    }
    if (i < n) data[i] = t[threadIdx.x];
    if (threadIdx.x == BLOCK - 1) sums[blockIdx.x] = t[threadIdx.x];
    if (i == 0) passes += 1;
}
namespace fixed {
template <class T, int THREADS>
__global__ void addBefore(T* data, const T* sums, int* counted, int n)
{
    const int i = blockIdx.x * THREADS + threadIdx.x;
    if (i < n && blockIdx.x) data[i] += sums[blockIdx.x - 1];
    if (i == 0) *counted = passes, passes = 0;
}
}

__global__ void smooth(const float* from, float* to, int n)
{
    const int i = blockIdx.x * BLOCK + threadIdx.x;
    if (i < n) to[i] = 0.5f * from[i] + 0.25f * (from[i ? i - 1 : 0] + from[i < n - 1 ? i + 1 : n - 1]);
}

// What follows a memset or a copy.
__global__ void countBins(const int* in, int* counts, int n)
{
    const int i = blockIdx.x * BLOCK + threadIdx.x;
    if (i < n) atomicAdd(&counts[in[i]], 1);
}

__global__ void leastOf(const float* in, float* least, int n)
{
    const int i = blockIdx.x * BLOCK + threadIdx.x;
    // The order of positive floats is that of their bits.
    if (i < n) atomicMin((int*)least, __float_as_int(in[i]));
}

__global__ void addLeft(const float* from, float* to, int n)
{
    const int i = blockIdx.x * BLOCK + threadIdx.x;
    if (i > 0 && i < n) to[i] += from[i - 1];
}

__global__ void fetch(const float* from, const int* places, float* to, int n)
{
    const int i = blockIdx.x * BLOCK + threadIdx.x;
    if (i < n) to[i] = from[places[i]];
}
