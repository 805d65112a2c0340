extern "C" __global__ void races(const int* in, int* out, int n)
{
    __shared__ int staged[64];
    const int t = threadIdx.x, i = blockIdx.x * 64 + t;
    if (t >= 32) {
        __nanosleep(1000000);  // so that a GPU loses the race for certain; the CPU device runs lane after lane
    }
    staged[t] = i < n ? in[i] + 1 : 0;
    // here a __syncthreads() is missing
    if (i < n) {
        out[i] = staged[63 - t];
    }
}
