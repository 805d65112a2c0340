__device__ float twice(const float* a, int i)
{
    return 2 * a[i];
}
