extern "C" __global__ void writesBeyond(const int* in, int* out, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = in[i] + 1;
    if (i == 0) {
        out[1ll << 36] = 1;
    }
}
