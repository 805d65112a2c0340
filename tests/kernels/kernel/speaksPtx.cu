extern "C" __global__ void speaksPtx(int* out, int n)
{
    const int i = blockIdx.x * BLOCK + threadIdx.x;
    int lane;
    asm("mov.u32 %0, %%laneid;" : "=r"(lane));
    if (i < n) {
        out[i] = lane;
    }
}
