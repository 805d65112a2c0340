extern "C" __global__ void chain(volatile int* done, int* out)
{
    if (blockIdx.x) {
        while (done[blockIdx.x - 1] == 0) {}
    }
    out[blockIdx.x] = 1;
    __threadfence();
    done[blockIdx.x] = 1;
}
