// CUB's sum of a whole array, as its documentation has it: a first call asks how much temporary storage is needed.

#include <cub/device/device_reduce.cuh>

extern "C" int cubSum(const SCALAR* in, SCALAR* out, unsigned char* temporary, long long capacity, long long n,
                      cudaStream_t stream)
{
    size_t bytes = 0;
    if (cudaError_t error = cub::DeviceReduce::Sum(nullptr, bytes, in, out, n, stream)) return error;
    if (bytes > static_cast<size_t>(capacity)) return cudaErrorMemoryAllocation;
    return cub::DeviceReduce::Sum(temporary, bytes, in, out, n, stream);
}
