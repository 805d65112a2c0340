#include <cstdio>
extern "C" __global__ void speaks(const int* in, int* out, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        out[i] = in[i] + 1;
    }
    if (i == 7) {
        printf("thread %d says hello\n", i);
    }
}
