__device__ int launches;
extern "C" __global__ void tires(const int* in, int* out, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && launches < 1000000) {
        out[i] = in[i] + 1;
    }
    if (i == n - 1) {
        launches += 500000;
    }
}
