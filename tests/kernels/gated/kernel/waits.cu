extern "C" __global__ void waits(float *out) { out[blockIdx.x * blockDim.x + threadIdx.x] = 1; }
