extern "C" __global__ void leavesNaN(const float* x, float* y, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        y[i] = i == n / 2 ? (x[i] - x[i]) / (x[i] - x[i]) : x[i] + 1.0f;
    }
}
