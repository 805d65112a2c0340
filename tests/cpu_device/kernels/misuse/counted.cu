extern __shared__ int all[];
__device__ int counted = 7;
__global__ void kernel(int* o) {
    static __device__ int own;
    all[threadIdx.x] = threadIdx.x;
    __syncthreads();
    if (threadIdx.x == 0) { o[0] = ++counted; o[1] = ++own; o[2] = all[63]; }
}
