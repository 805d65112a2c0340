extern "C" __global__ void writesAfter(const int* in, int* out, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i <= n) {
        out[i] = i < n ? in[i] + 1 : 0;
    }
}
