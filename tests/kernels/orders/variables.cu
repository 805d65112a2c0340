// `__device__` and `__constant__` arrays: their bounds, and who may write them.
// The line before a kernel says its kind, the setup of races.yaml, and what is wrong.

__device__ int table[4] = {1, 2, 3, 4};
__device__ int between[100];
__device__ int behind[4];
__constant__ int fixed[4] = {10, 20, 30, 40};
__constant__ int weights[8];  // set by the YAML

// ok looked: within the bounds of each
__global__ void within(const int* in, int* out)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < 100) between[i] = in[i];
    out[i] = table[i % 4] + fixed[i % 4];
}

// bug looked: the element behind a table
__global__ void behindTable(const int* in, int* out)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = table[in[i] == 63 ? 4 : i % 4] + fixed[i % 4];  // OUTSIDE
}

// bug looked: the element behind a constant array
__global__ void behindConstant(const int* in, int* out)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = table[i % 4] + fixed[in[i] == 63 ? 4 : i % 4];  // OUTSIDE
}

// bug looked: the element before a table
__global__ void beforeTable(const int* in, int* out)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = table[in[i] == 63 ? -1 : i % 4] + fixed[i % 4];  // OUTSIDE
}

// bug looked: writes behind an array, where the next one could be
__global__ void behindArray(const int* in, int* out)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    between[i] = in[i];  // OUTSIDE
    if (i < 4) behind[i] = 0;
    out[i] = table[i % 4] + fixed[i % 4] + 0 * between[i / 2] + 0 * behind[i % 4];
}

// bug looked: a kernel must not write to a constant array
__global__ void writesConstant(const int* in, int* out)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    int* const place = (int*)&fixed[in[i] % 4];
    *place = 10 * (i % 4 + 1);  // CONSTANT
    out[i] = table[i % 4] + fixed[i % 4];
}

// ok weighted: a constant array that the YAML sets
__global__ void weighted(const int* in, int* out)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = weights[i % 8] * in[i];
}

// bug weighted: a write to a constant array that the YAML sets
__global__ void writesWeights(const int* in, int* out)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    int* const place = (int*)&weights[in[i] % 8];
    *place = i % 8;  // CONSTANT
    out[i] = weights[i % 8] * in[i];
}

// bug weighted: a read behind a constant array that the YAML sets
__global__ void behindWeights(const int* in, int* out)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = weights[in[i] == 63 ? 8 : i % 8] * in[i];  // OUTSIDE
}

// One of two by a macro, as a variant may ask for.
#define CONSTANT_PLACES 0
#if CONSTANT_PLACES
__constant__ int places[128];
#else
__device__ int places[128];
#endif

// ok looked: an array that would be constant in another variant is written here
__global__ void writesVariant(const int* in, int* out)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    places[i] = fixed[in[i] % 4];
    out[i] = table[i % 4] + places[i];
}
