enum Mode { fast, exact };
template <Mode> __device__ float shift() { return SHIFT; }
__global__ void scaled(const float* x, float* y, float a, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    y[i] = x[i] * a;
#if FUSED
    float added[REPEATS];
    for (int k = 0; k < REPEATS; ++k) added[k] = shift<MODE>();
    y[i] += added[0] + added[REPEATS - 1];
#endif
}
