// An image turned about its middle; what lies beyond an edge comes in at the other one.
__global__ void rotated(cudaTextureObject_t image, float* out, int width, int height, float cosine, float sine)
{
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    const float u = (x + 0.5f) / width - 0.5f, v = (y + 0.5f) / height - 0.5f;
    out[y * width + x] = tex2D<float>(image, u * cosine - v * sine + 0.5f, v * cosine + u * sine + 0.5f);
}

// Neighbours at a distance; beyond the ends there is nothing.
__global__ void around(cudaTextureObject_t numbers, int* out, int distance, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = tex1Dfetch<int>(numbers, i - distance) + 3 * tex1Dfetch<int>(numbers, i + distance);
}

// A volume, shifted by one along each axis; edges are repeated.
__global__ void shifted(cudaTextureObject_t volume, unsigned short* out, int nx, int ny, int nz)
{
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    const int z = blockIdx.z * blockDim.z + threadIdx.z;
    if (x >= nx || y >= ny || z >= nz) return;
    out[(z * ny + y) * nx + x] = tex3D<unsigned short>(volume, x + 1.5f, y + 1.5f, z + 1.5f);
}

// Colours of 8 bits as fractions.
__global__ void fractions(cudaTextureObject_t image, float4* out, int width, int height)
{
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < width && y < height) tex2D(&out[y * width + x], image, x + 0.5f, y + 0.5f);
}

// Negative colours, from one surface to another. OFFSET columns too far to the right; MODE is for what lies outside.
__global__ void negative(cudaSurfaceObject_t in, cudaSurfaceObject_t out, int width, int height)
{
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    uchar4 c = surf2Dread<uchar4>(in, x * sizeof(uchar4), y);
    c.x = 255 - c.x, c.y = 255 - c.y, c.z = 255 - c.z;
    surf2Dwrite(c, out, (x + OFFSET) * sizeof(uchar4), y, cudaSurfaceBoundaryMode(MODE));
}

// In place, in one dimension.
__global__ void doubled(cudaSurfaceObject_t numbers, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) surf1Dwrite(2 * surf1Dread<float>(numbers, 4 * i + OFFSET), numbers, 4 * i);
}

// From beyond the edges of a volume: 0, or the nearest element.
__global__ void beyond(cudaSurfaceObject_t volume, int* zero, int* nearest, int nx, int ny, int nz)
{
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    const int z = blockIdx.z * blockDim.z + threadIdx.z;
    if (x >= nx || y >= ny || z >= nz) return;
    const int i = (z * ny + y) * nx + x;
    surf3Dread(&zero[i], volume, 4 * (x - 1), y + 1, z - 1, cudaBoundaryModeZero);
    surf3Dread(&nearest[i], volume, 4 * (x - 1), y + 1, z - 1, cudaBoundaryModeClamp);
}

// Each element becomes the sum of its neighbours in a row: a step of a program that goes back and forth.
__global__ void spread(cudaTextureObject_t in, cudaSurfaceObject_t out, int width, int height)
{
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    surf2Dwrite(tex2D<int>(in, x - 0.5f, y + 0.5f) + tex2D<int>(in, x + 1.5f, y + 0.5f), out, 4 * x, y);
}
__global__ void spreadLinear(cudaTextureObject_t in, int* out, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = tex1Dfetch<int>(in, i - 1) + tex1Dfetch<int>(in, i + 1);
}
