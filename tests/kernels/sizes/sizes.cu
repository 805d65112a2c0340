// Sums of rows, one for each block of 32 threads; it leaves out columns behind the last 32.
extern "C" __global__ void rowSums(const int *in, int *out, int width) {
    if (threadIdx.x == 0) out[blockIdx.x] = 0;
    __syncthreads();
    for (int j = threadIdx.x; j < width / 32 * 32; j += 32) atomicAdd(&out[blockIdx.x], in[blockIdx.x * width + j]);
}

// Forgets what is behind the last 384 elements.
extern "C" __global__ void tiles(const int *in, int *out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n / 384 * 384) out[i] = in[i] + 1;
}

// Wrong only where rows and columns are both odd.
extern "C" __global__ void corner(const int *in, int *out, int m, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < m * n && !(m % 2 && n % 2 && i == m * n - 1)) out[i] = in[i] + 1;
}

// Adds 1, or 2 in every other launch, which is right for an even number of them.
extern "C" __global__ void turns(int *x, int step, int n, int which) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] += which ? 2 * (step % 2) : 1;  // the same after an even number of launches
}

extern "C" __global__ void right(const int *in, int *out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = in[i] + 1;
}
