// The kernel takes a functor; this one counts, as NumContributingAccumulator of RasterizeNumContributingGaussians.cu.
#include "RasterizeContributingCommon.cuh"

struct Counter
{
    int *num;
    float *alphas;
    float T[2];
    int counts[2];

    __device__ void init_image(uint32_t image, uint32_t width, uint32_t height)
    {
        num += image * width * height;
        alphas += image * width * height;
    }
    __device__ void init_shared(void *) {}
    __device__ void init(uint32_t p, uint32_t, int)
    {
        T[p] = 1.0f;
        counts[p] = 0;
    }
    __device__ int local_id(int) const { return 0; }
    __device__ float transmittance(uint32_t p) const { return T[p]; }
    __device__ void on_hit(uint32_t p, uint32_t, int, int, float, float, float next)
    {
        counts[p] += 1;
        T[p] = next;
    }
    __device__ void finalize(uint32_t p, uint32_t, int pixel)
    {
        num[pixel] = counts[p];
        alphas[pixel] = 1.0f - T[p];
    }
};
