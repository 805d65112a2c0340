extern "C" __global__ void traps(const int* in, int* out, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i == 70) {
        __trap();
    }
    if (i < n) {
        out[i] = in[i] + 1;
    }
}
