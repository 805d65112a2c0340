// Nothing is wrong with it, whatever its YAML says.
extern "C" __global__ void soundAfterAll(int* out)
{
    out[threadIdx.x] = threadIdx.x;
}
