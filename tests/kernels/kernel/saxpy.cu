extern "C" __global__ void saxpy(const SCALAR* x, SCALAR* y, SCALAR a, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        y[i] = a * x[i] + y[i];
    }
}
