extern "C" __global__ void writesPart(const int* in, int* out, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && blockIdx.x + 1 < gridDim.x) {
        out[i] = in[i] + 1;
    }
}
