// Kernels for benchmarks/cpu_device.py: what one shuffle, one barrier and one plain thread cost on the CPU device.
extern "C" __global__ void manyShuffles(int *out, int repeats) {
    int value = threadIdx.x;
    for (int k = 0; k < repeats; k++) value = __shfl_xor_sync(0xffffffffu, value, 1) + 1;
    out[blockIdx.x * blockDim.x + threadIdx.x] = value;
}

extern "C" __global__ void manyBarriers(int *out, int repeats) {
    for (int k = 0; k < repeats; k++) __syncthreads();
    out[blockIdx.x * blockDim.x + threadIdx.x] = repeats;
}

extern "C" __global__ void plainThreads(const float *left, const float *right, float *out, int size) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < size) out[i] = left[i] + right[i];
}

extern "C" __global__ void reduceByShuffle(const int *in, int *out, int size) {
    __shared__ int partials[32];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int value = i < size ? in[i] : 0;
    int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    for (int offset = 16; offset > 0; offset >>= 1) value += __shfl_down_sync(0xffffffffu, value, offset);
    if (lane == 0) partials[warp] = value;
    __syncthreads();
    if (warp == 0) {
        value = lane < (int)(blockDim.x >> 5) ? partials[lane] : 0;
        for (int offset = 16; offset > 0; offset >>= 1) value += __shfl_down_sync(0xffffffffu, value, offset);
        if (lane == 0) atomicAdd(out, value);
    }
}

extern "C" __global__ void reduceByShared(const int *in, int *out, int size) {
    extern __shared__ int partials[];
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    partials[t] = i < size ? in[i] : 0;
    __syncthreads();
    for (int offset = blockDim.x / 2; offset > 0; offset >>= 1) {
        if (t < offset) partials[t] += partials[t + offset];
        __syncthreads();
    }
    if (t == 0) atomicAdd(out, partials[0]);
}
