#define RADIUS 3
__constant__ float weights[16];  // more than the YAML fills in

// The host adds the radius to the pointer, so that the first thread reads before it. C++ mangles the kernel's name.
__global__ void halo(const float* in, float* out, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float sum = 0;
    for (int k = -RADIUS; k <= RADIUS; ++k) sum += weights[k + RADIUS] * in[i + k];
    out[i] = sum;
}
extern "C" __global__ void haloOfOutput(int* out, int n, int first)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    for (int k = i; k < n + 2 * RADIUS; k += blockDim.x * gridDim.x) out[k - RADIUS + first] = k;
}
extern "C" __global__ void beforeItsArray(int* out, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = i;
    if (i == 0) out[-2] = 1;
}

// Right or wrong by the order in which lanes, warps and blocks happen to run.
extern "C" __global__ void noBarrier(int* out, int n)
{
    __shared__ int s[64];
    s[threadIdx.x] = threadIdx.x;
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = threadIdx.x ? s[threadIdx.x - 1] + 1 : 0;  // the left neighbour has run, in the usual order
}
extern "C" __global__ void noSyncwarp(int* out, int n)
{
    __shared__ int s[64];
    s[threadIdx.x] = threadIdx.x;
    __syncthreads();
    const int lane = threadIdx.x % 32, right = lane < 31 ? s[threadIdx.x + 1] : threadIdx.x + 1;
    if (lane < 31) s[threadIdx.x] = 0;  // in another order the left neighbour reads this
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = right - 1;
}
__device__ int turn = 0;
extern "C" __global__ void blockByBlock(int* out, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (threadIdx.x == 0) atomicAdd(&turn, 1);
    if (i < n) out[i] = threadIdx.x + (blockIdx.x == gridDim.x - 1 && atomicAdd(&turn, 0) % gridDim.x != 0);
}
extern "C" __global__ void waitsForTheBlockBefore(int* out, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = threadIdx.x;
    __syncthreads();
    if (threadIdx.x == 0) {
        while (atomicAdd(&turn, 0) % gridDim.x != blockIdx.x) { }
        atomicAdd(&turn, 1);
    }
}
extern "C" __global__ void ticket(int* out, int n)
{
    __shared__ int block;
    if (threadIdx.x == 0) block = atomicAdd(&turn, 1) % gridDim.x;
    __syncthreads();
    const int i = block * blockDim.x + threadIdx.x;
    if (i < n) out[i] = __shfl_sync(0xffffffff, threadIdx.x, threadIdx.x % 32);
}
extern "C" __global__ void floatAtomics(const float* in, float* out, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i == 0) atomicAdd(out, 0.0f);
    if (i < n) atomicAdd(out, in[i]);
}
