__device__ __noinline__ int deeper(const int* in, int i)
{
    volatile int held[64];
    held[i % 64] = in[i];
    return deeper(in, i) + held[i % 64];
}
extern "C" __global__ void recurses(const int* in, int* out, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        out[i] = deeper(in, i);
    }
}
