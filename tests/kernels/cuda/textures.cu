// Each texture is read from a quarter before it to a quarter behind it; with normalized coordinates, of four copies side by
// side. No coordinate is near to the border of two elements, and every weight has eight bits.
__device__ float around(float x, float size) { return (floorf((x * 1.5f - 0.25f) * size * 64.0f) + 0.5f) / 64.0f; }
__device__ float turns(float x, float size) { return around(x, 4.0f * size) / size; }

extern "C" __global__ void textures(const float *at, cudaTextureObject_t image, cudaTextureObject_t wrapped,
                                    cudaTextureObject_t bytes, cudaTextureObject_t volume, cudaTextureObject_t line,
                                    cudaTextureObject_t table, cudaTextureObject_t colours, cudaTextureObject_t halves,
                                    cudaTextureObject_t signs, float *out)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x, size = gridDim.x * blockDim.x;
    const float x = at[3 * t], y = at[3 * t + 1], z = at[3 * t + 2];
    float *to = out + t;
    to[0 * size] = tex2D<float>(image, around(x, 13), around(y, 9));
    to[1 * size] = tex2D<float>(wrapped, turns(x, 16), turns(y, 8));
    to[2 * size] = tex2D<float>(bytes, around(x, 7), around(y, 5));
    to[3 * size] = tex3D<float>(volume, around(x, 5), around(y, 4), around(z, 3));
    to[4 * size] = tex1D<float>(line, turns(x, 16));
    to[5 * size] = (float)tex1Dfetch<int>(table, (int)around(x, 100));
    const float4 colour = tex2D<float4>(colours, around(x, 6), around(y, 6));
    to[6 * size] = colour.x + 2 * colour.y + 4 * colour.z + 8 * colour.w;
    to[7 * size] = tex2D<float>(halves, around(x, 4), around(y, 4));
    short sign;
    tex1D(&sign, signs, around(x, 20));
    to[8 * size] = sign;
}
