extern "C" __global__ void writesInput(const int* in, int* out, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        out[i] = in[i] + 1;
        const_cast<int*>(in)[i] = 0;
    }
}
