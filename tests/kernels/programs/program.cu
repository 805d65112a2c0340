#include <algorithm>
#include <cstdio>
#include <iostream>
#include <type_traits>
#include <vector>

#include <cublas_v2.h>  // which includes the half types, and need not be here
#include <cuda_runtime.h>
#include <device_launch_parameters.h>
#include <library_of_the_author.h>  // not here
#include "parts/own.cuh"

using namespace std;
using namespace library_of_the_author;

#define HOST_AND_DEVICE __host__ __device__
#define DEFINE_SHIFT(name, by) \
    __global__ void name(int* out, int n) { const int i = index_of(); if (i < n) out[i] = i + by; }

static int launches = 0;  // of the host
constexpr int SPARE = std::max(0, 1);
HOST_AND_DEVICE int once(int x) { return x; }
int index_of_host() { return ++launches; }

namespace shapes {
namespace {
template <typename T, int tile, bool twofold>
__global__ void __launch_bounds__(tile) scaled(T* out, int n)
{
    __shared__ T values[tile];
    static_assert(std::is_arithmetic<T>::value, "a number");
    const int i = index_of();
    values[threadIdx.x] = T(i);
    __syncthreads();
    if (i < n) out[i] = values[threadIdx.x] * T(twofold ? 2 * shift : shift) + T(once(SPARE) - 1);
}
}
template <typename T, int by> __global__ void offset(T* out, int n) { out[index_of()] = by; }
struct Host {
    vector<int> kept;
    void run() { hidden<<<1, 32>>>(nullptr, 0); check(cudaGetLastError()); }
};
}

static __global__ void hidden(int* out, int n) { const int i = index_of(); if (i < n) out[i] = 2 * i; }
static __global__ void atomics_only(int* out, int n) { asm("// PTX"); }
DEFINE_SHIFT(shifted, 7)
__global__ void halved(int* out, int n)
{
    const int i = index_of();
    const __half half_of_it = __float2half(float(i % 100) / 2);
    if (i < n) out[i] = int(2 * __half2float(half_of_it));
}
struct Managed {  // a class of both sides
    int by = 3;
    void* operator new(size_t bytes)
    {
        void* made;
        if (cudaMallocManaged(&made, bytes) != cudaSuccess) exit(1);
        cudaDeviceSynchronize();
        return made;
    }
};
__global__ void by_class(int* out, int n)
{
    const int i = index_of();
    if (i < n) new (out + i) int(Managed().by);
}
__global__ void allocates(int* out, int n) { cudaMalloc(&out, n); }
__global__ void twice(int* out, int n) { const int i = index_of(); if (i < n) out[i] = 2 * i; }
__global__ void twice(float* out, int n) { const int i = index_of(); if (i < n) out[i] = 2 * i + 1; }
__global__ void wrong(int* out, int n) { out[0] = index_of_host(); }
__global__ void unknown(int* out, int n) { out[0] = library_function(n); }
__global__ void broken(int* out, int n) { out[0] = nonesuch; }

template __global__ void shapes::scaled<double, 8, true>(double*, int);

#define BIND(name, kind, type, count) \
    library::Tensor bind_##name(library::Tensor a) { name<<<1, count>>>(a.data<type>(), 1); return a; }

BIND(hidden, library::kInt32, int, 1)
BIND(halved, library::kInt32, int,
     4)
BIND(shifted, library::kInt32, int32_t, 4)  // a macro's call that no semicolon ends

LIBRARY_MODULE(LIBRARY_NAME, m) {
    // functions
    LIBRARY_FUNCTION(hidden)
    LIBRARY_FUNCTION(halved)
    LIBRARY_FUNCTION(shifted)
}

int main(int argc, char** argv)
{
    vector<float> host(100);
    sort(host.begin(), host.end());
    dim3 grid(4), block(32);
    float* device;
    check(cudaMalloc(&device, 400));
    shapes::scaled<float, 32, true><<<grid, block>>>(device, host.size());
    hidden<<<grid, block, 0, 0>>>(nullptr, 0);
    cout << "done " << argc << endl;
    return library_main(argv);
}
