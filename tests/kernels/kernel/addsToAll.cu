__global__ void addsToAll(int* out)
{
    out[threadIdx.x] += 1;
}
