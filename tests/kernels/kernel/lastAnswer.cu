__device__ int kept[1024];
extern "C" __global__ void lastAnswer(const int* in, int* out, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        out[i] = kept[i];
        kept[i] = in[i] + 1;
    }
}
