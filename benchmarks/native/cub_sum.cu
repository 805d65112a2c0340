// CUB's sum over a whole array, as a shared library for benchmarks/reduction.py.
//
// Used as CUB's own documentation has it: once without `temp`, which gives `temp_bytes`, then with it, again and again.

#include <cub/device/device_reduce.cuh>
#include <cub/version.cuh>

extern "C" int cub_version()
{
    return CUB_VERSION;
}

extern "C" int cub_sum_int32(void* temp, size_t* temp_bytes, const int* in, int* out, int n, cudaStream_t stream)
{
    return cub::DeviceReduce::Sum(temp, *temp_bytes, in, out, n, stream);
}

extern "C" int cub_sum_float32(void* temp, size_t* temp_bytes, const float* in, float* out, int n, cudaStream_t stream)
{
    return cub::DeviceReduce::Sum(temp, *temp_bytes, in, out, n, stream);
}
