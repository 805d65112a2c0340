// Tells in which memories it finds what an earlier launch left there: 1 local, 2 shared, 4 managed, 8 a hidden variable.

#define LEFT 0x12345678u

__managed__ unsigned managed;
namespace {
__device__ unsigned hidden;
}

extern "C" __global__ void leftovers(const float *in, float *out, int n) {
    volatile unsigned local[16]; // never initialized, and indexed by an argument: it stays in local memory
    __shared__ volatile unsigned shared[1024];
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned found = 0;
#pragma unroll 1
    for (int k = 0; k < 16; k++) {
        found |= local[(k + n) % 16] == LEFT;
        local[(k + n) % 16] = LEFT;
    }
    for (int k = threadIdx.x; k < 1024; k += blockDim.x) {
        found |= (shared[k] == LEFT) << 1;
        shared[k] = LEFT;
    }
    if (i == 0) { // later blocks may find what this one leaves
        found |= (managed == LEFT) << 2 | (hidden == LEFT) << 3;
        managed = hidden = LEFT;
    }
    if (i < n)
        out[i] = in[i] * 0.0f + found;
}
