#include <cstdlib>
extern "C" __global__ void exits(const int* in, int* out, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i == 70) {
        exit(3);
    }
    if (i < n) {
        out[i] = in[i] + 1;
    }
}
