extern "C" __global__ void fourOnes(int* out) { out[threadIdx.x] = 1; }
