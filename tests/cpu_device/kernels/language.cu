// CUDA C++ as kernels use it: templates, constants, device variables, shared memory, printing.
#include <cstdio>
#include "language.cuh"

template <typename T, int TILE, int PAD>
__device__ __forceinline__ void transposeTile(const T *__restrict__ in, T *__restrict__ out, int width, int height) {
    __shared__ T tile[TILE][TILE + PAD];
    int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;
#pragma unroll
    for (int j = 0; j < TILE; j += 8) {
        if (x < width && y + j < height) tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * width + x];
    }
    __syncthreads();
    x = blockIdx.y * TILE + threadIdx.x;
    y = blockIdx.x * TILE + threadIdx.y;
#pragma unroll
    for (int j = 0; j < TILE; j += 8) {
        if (x < height && y + j < width) out[(y + j) * height + x] = tile[threadIdx.x][threadIdx.y + j];
    }
}
extern "C" __global__ void transposeFloat(const float *in, float *out, int width, int height) {
    transposeTile<float, 32, 1>(in, out, width, height);
}
#define RADIUS 4
__constant__ float coefficients[2 * RADIUS + 1];
extern "C" __global__ void __launch_bounds__(256)
stencil(const float *__restrict__ in, float *__restrict__ out, int size) {
    extern __shared__ float tile[];
    int global = blockIdx.x * blockDim.x + threadIdx.x, local = threadIdx.x + RADIUS;
    tile[local] = global < size ? in[global] : 0.f;
    if (threadIdx.x < RADIUS) {
        int right = global + (int)blockDim.x;
        tile[local - RADIUS] = global >= RADIUS ? in[global - RADIUS] : 0.f;
        tile[local + blockDim.x] = right < size ? in[right] : 0.f;
    }
    __syncthreads();
    float sum = 0.f;
#pragma unroll
    for (int k = -RADIUS; k <= RADIUS; k++) sum = __fmaf_rn(coefficients[k + RADIUS], tile[local + k], sum);
    if (global < size) out[global] = sum;
}

__device__ int counter;
extern "C" __global__ void lastBlock(const int *in, int *partials, int *out, int size) {
    __shared__ int sums[256];
    __shared__ bool last;
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    sums[t] = i < size ? in[i] : 0;
    __syncthreads();
    for (int k = 128; k > 0; k >>= 1) {
        if (t < k) sums[t] += sums[t + k];
        __syncthreads();
    }
    if (t == 0) {
        partials[blockIdx.x] = sums[0];
        __threadfence();
        last = atomicAdd(&counter, 1) == (int)gridDim.x - 1;
    }
    __syncthreads();
    if (last && t == 0) {
        int total = 0;
        for (unsigned b = 0; b < gridDim.x; b++) total += partials[b];
        *out = total;
        counter = 0;
    }
}

extern "C" __global__ void headerShared(int *out) { out[threadIdx.x] = reversed(threadIdx.x); }

extern "C" __global__ void alignedShared(int *out) {
    extern __shared__ __align__(16) unsigned char raw[];
    int *numbers = reinterpret_cast<int *>(raw);
    numbers[threadIdx.x] = threadIdx.x;
    __syncthreads();
    out[threadIdx.x] = numbers[blockDim.x - 1 - threadIdx.x] + (reinterpret_cast<size_t>(raw) % 16 ? 1000 : 0);
}

extern "C" __global__ void hello(int count) {
    if (threadIdx.x < count) printf("hello from %d: %.2f %s\n", (int)threadIdx.x, 0.5 * threadIdx.x, "there");
}

extern "C" __global__ void chatter() { printf("0123456789012345678901234567890123456789"); }

extern "C" __global__ void freshShared(unsigned *out, int write) {
    __shared__ unsigned kept[32];
    extern __shared__ unsigned dynamic[];
    if (write) kept[threadIdx.x] = dynamic[threadIdx.x] = 7;
    out[threadIdx.x] = kept[threadIdx.x] ^ dynamic[threadIdx.x];
    out[threadIdx.x + 32] = kept[threadIdx.x];
}

extern "C" __global__ void activeMasks(unsigned *out) {
    unsigned mask, i = threadIdx.x;
    if (i % 2) mask = __activemask(); else mask = __activemask();
    out[i] = mask;
}

struct Pair { int first; float second; };
extern "C" __global__ void takesStructure(Pair pair, float *out) { *out = pair.first + pair.second; }

extern "C" __global__ void manyTypes(signed char a, unsigned char b, short c, unsigned short d, int e, unsigned f,
                                     long long g, unsigned long long h, float i, double j, bool k, double *out) {
    *out = a + b + c + d + e + f + g + h + i + j + k;
}
