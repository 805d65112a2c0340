// CUB's sum of a whole array, as its documentation has it: a first call asks how much temporary storage is needed.
//
// CUB's kernels count in the type of the number of elements, and take longer with 64 bits, so that only an array that
// needs them has them: WIDE is 0 for fewer than 2^31 elements.

#include <cub/device/device_reduce.cuh>

#if WIDE
using Count = long long;
#else
using Count = int;
#endif

extern "C" int cubSum(const SCALAR* in, SCALAR* out, unsigned char* temporary, long long capacity, long long n,
                      cudaStream_t stream)
{
    size_t bytes = 0;
    if (cudaError_t error = cub::DeviceReduce::Sum(nullptr, bytes, in, out, static_cast<Count>(n), stream)) return error;
    if (bytes > static_cast<size_t>(capacity)) return cudaErrorMemoryAllocation;
    return cub::DeviceReduce::Sum(temporary, bytes, in, out, static_cast<Count>(n), stream);
}
