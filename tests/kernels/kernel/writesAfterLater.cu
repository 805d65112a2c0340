__device__ int launches;
extern "C" __global__ void writesAfterLater(const int* in, int* out, int n)
{
    const int i = threadIdx.x;
    const int launch = launches;
    if (i < n) {
        out[i] = in[i] + 1;
    }
    __syncthreads();
    if (i == 0) {
        launches = launch + 1;
        if (launch >= 2) {
            out[n] = 1;
        }
    }
}
