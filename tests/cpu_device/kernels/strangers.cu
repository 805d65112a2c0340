// Kernels as strangers write them: right on a GPU, and each once refused by this device or crashed on it; and wrong ones,
// which once passed.
#include "strangers.cuh"

#define N 64

// Vectors of a static shared array of floats: right on a GPU, which aligns it to 16 bytes.
extern "C" __global__ void floatsAsVectors(float *o) {
    __shared__ char flag;
    __shared__ float a[N];
    __shared__ char other;
    __shared__ float b[N];
    const int t = threadIdx.x;
    if (t == 0) flag = other = 1;
    a[t] = t;
    __syncthreads();
    if (t < N / 4) ((float4 *)b)[t] = ((float4 *)a)[t];
    __syncthreads();
    o[t] = b[t] * flag * other;
}

// Dynamic shared memory, declared at file scope and in every other form that CUDA takes.
extern __shared__ int atFileScope[];
namespace inside {
extern "C" {
extern float __shared__ qualifierBehindType[];
}
}  // namespace inside
extern "C" __global__ void dynamicAtFileScope(int *o) {
    atFileScope[threadIdx.x] = threadIdx.x;
    __syncthreads();
    o[blockIdx.x * N + threadIdx.x] = atFileScope[N - 1 - threadIdx.x] + (int)inFunction<float>(threadIdx.x);
    __syncthreads();
    inside::qualifierBehindType[threadIdx.x] = 1;
}
extern "C" __global__ void dynamicWithRows(int *o) {
    extern __shared__ int rows[][8];
    rows[threadIdx.x / 8][threadIdx.x % 8] = threadIdx.x;
    __syncthreads();
    o[threadIdx.x] = rows[threadIdx.x % 8][threadIdx.x / 8];
}
extern "C" __global__ void dynamicTwice(int *o) {
    extern __shared__ int first[], second[];
    extern __shared__ __attribute__((aligned(16))) int third[];
    first[threadIdx.x] = 1;
    __syncthreads();
    o[threadIdx.x] = second[N - 1 - threadIdx.x] + third[threadIdx.x];
}

// A cast to a reference, and an address, mean the array, whatever stands for it: in a function, at file scope, and where a
// lambda copies it.
extern __shared__ char bytesAtFileScope[];
struct TwoArrays {
    int first[N], second[N];
};
template <class T, class Bytes>
__device__ T &as(Bytes &bytes) {
    return reinterpret_cast<T &>(bytes);
}
extern "C" __global__ void dynamicAsReferences(int *o) {
    extern __shared__ char bytes[];
    auto &tile = reinterpret_cast<int (&)[N]>(bytes);
    TwoArrays &pair = as<TwoArrays>(bytes);
    int *address = (int *)&bytes;
    tile[threadIdx.x] = 1;
    pair.second[threadIdx.x] = 2;
    __syncthreads();
    o[threadIdx.x] = pair.first[N - 1 - threadIdx.x] + reinterpret_cast<TwoArrays &>(bytes).second[0] + address[0];
}
extern "C" __global__ void dynamicAsReferencesAtFileScope(int *o) {
    auto &tile = reinterpret_cast<int (&)[N]>(bytesAtFileScope);
    TwoArrays &pair = (TwoArrays &)bytesAtFileScope;
    int *address = (int *)&bytesAtFileScope;
    tile[threadIdx.x] = 1;
    pair.second[threadIdx.x] = 2;
    __syncthreads();
    o[threadIdx.x] = pair.first[N - 1 - threadIdx.x] + reinterpret_cast<TwoArrays &>(bytesAtFileScope).second[0] + address[0];
}
extern "C" __global__ void dynamicInALambda(int *o) {
    extern __shared__ int copied[];
    auto &pair = reinterpret_cast<TwoArrays &>(copied);
    auto put = [=](int value) { copied[threadIdx.x] = value; };
    put(2);
    pair.second[threadIdx.x] = 2;
    __syncthreads();
    o[threadIdx.x] = pair.first[N - 1 - threadIdx.x] + pair.second[0];
}

// Beyond one shared array lies the next: found at the barrier, or at the end of the block.
extern "C" __global__ void overrunsShared(int *o, int beyond) {
    __shared__ int first[N];
    __shared__ int second[N];
    first[threadIdx.x] = second[threadIdx.x] = 0;
    __syncthreads();
    first[threadIdx.x + beyond] = 7;
    __syncthreads();  // overrunsShared
    o[threadIdx.x] = first[threadIdx.x] + second[threadIdx.x];
}
extern "C" __global__ void overrunsAtTheEnd(int *o, int before) {
    __shared__ int only[N];
    only[threadIdx.x] = threadIdx.x;
    atFileScope[threadIdx.x] = 0;
    __syncthreads();
    o[threadIdx.x] = only[N - 1 - threadIdx.x] + atFileScope[threadIdx.x];
    only[int(threadIdx.x) - before] = 7;
}
