#include <cstdio>
extern "C" __global__ void printsWild(const int* in, int* out, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i == 70) {
        printf("%s\n", reinterpret_cast<const char*>(static_cast<size_t>(in[i])));
    }
    if (i < n) {
        out[i] = in[i] + 1;
    }
}
