#include <cuComplex.h>
#include <cuda_fp8.h>

// Each of the small types, widened, and a conversion back.
__global__ void smallTypes(
    const signed char* a, const unsigned char* b, const short* c, const unsigned short* d, const bool* e,
    int* sums, bool* any, short* narrow, signed char first, bool flag, unsigned short last, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    sums[i] = a[i] + b[i] + c[i] * 2 + d[i] + e[i] + first + last;
    any[i] = e[i] || a[i] > 0 == flag;
    narrow[i] = (short)(c[i] + a[i]);
}

// Numbers of 8 bits: read as float, written with saturation.
template <class T>
__device__ void scaled(const T* in, T* out, float factor, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = T(float(in[i]) * factor);
}
__global__ void fp8(const __nv_fp8_e4m3* a, const __nv_fp8_e5m2* b, __nv_fp8_e4m3* x, __nv_fp8_e5m2* y, float f, int n)
{
    scaled(a, x, f, n);
    scaled(b, y, f, n);
}

// Every bit pattern as a number, and numbers as bit patterns.
__global__ void fp8Bits(const unsigned char* bits, float* four, float* five, const float* x, unsigned char* to4,
                        unsigned char* to5, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < 256) {
        __nv_fp8_e4m3 a;
        __nv_fp8_e5m2 b;
        a.__x = b.__x = bits[i];
        four[i] = float(a);
        five[i] = float(b);
    }
    if (i < n) to4[i] = __nv_fp8_e4m3(x[i]).__x, to5[i] = __nv_fp8_e5m2(x[i]).__x;
}

struct Particle {
    float3 position;
    double mass;
    signed char kind;
    int2 cell[2];
};
struct __align__(16) Config {
    Particle probe;
    float scale;
    short steps;
};

// Structures in arrays and by value, vectors by value, a vector at an odd place among the arguments.
__global__ void structures(const Particle* in, Particle* out, float4* packed, char tag, float4 shift, Config config, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Particle p = in[i];
    packed[i] = make_float4(p.position.x + shift.x, p.position.y + shift.y, p.position.z + shift.z, shift.w);
    p.position.x = p.position.x * config.scale + config.probe.position.z;
    p.mass = 2 * p.mass;
    p.kind = tag + config.steps;
    p.cell[1] = make_int2(p.cell[0].y, config.probe.cell[1].x);
    out[i] = p;
}

__global__ void complexProduct(const cuFloatComplex* a, const cuFloatComplex* b, cuFloatComplex* out, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = cuCmulf(a[i], cuConjf(b[i]));
}

// A missing bias is a null pointer; two pointers into one array.
__global__ void pointers(const int* low, const int* high, const int* bias, int* out, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = low[i] - high[i] + (bias ? bias[i] : 7);
}

// A sparse matrix as libraries pass it: its arrays are in the structure alone, and so is one that is written.
struct Rows {
    const int* starts;
    short count;
    const float* values;
    const float* scales;
    float* sums;
};
__global__ void rows(Rows rows, int* lengths)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= rows.count) return;
    float sum = 0;
    for (int k = rows.starts[i]; k < rows.starts[i + 1]; ++k) sum += rows.values[k];
    rows.sums[i] = rows.scales ? sum * rows.scales[i] : sum;
    lengths[i] = rows.starts[i + 1] - rows.starts[i];
}

// The result is a variable of the module.
__device__ int counts[16];
__device__ float2 ends[2];
__global__ void variables(const int* in, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < 16) counts[i] = 0;
    if (i < 2) ends[i] = make_float2(in[i], in[n - 1 - i]);
    __syncthreads();
    if (i < n) atomicAdd(&counts[in[i] & 15], 1);
}

__global__ void onlyCounts(const int* in, int n)
{
    __shared__ int seen;
    if (threadIdx.x == 0) seen = 0;
    __syncthreads();
    if (threadIdx.x < n) atomicAdd(&seen, in[threadIdx.x]);
}

__global__ void volume(const float* in, float* out, int nx, int ny, int nz)
{
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    const int z = blockIdx.z * blockDim.z + threadIdx.z;
    if (x < nx && y < ny && z < nz) out[(x * ny + y) * nz + z] = in[(z * ny + y) * nx + x];
}

// Forgets the last member.
__global__ void forgetful(const Particle* in, Particle* out, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i].position = in[i].position, out[i].mass = in[i].mass, out[i].kind = in[i].kind;
    if (i < n) out[i].cell[0] = in[i].cell[0];
}

// Arrays of pointers: to named arrays of different lengths, and to the matrices of a batch.
__global__ void joinLists(const float* const* lists, const int* lengths, float* out, int count, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float sum = 0.0f;
    for (int k = 0; k < count; ++k)
        if (lists[k] && i < lengths[k]) sum += lists[k][i];
    out[i] = sum;
}

__global__ void batchedProduct(const float** a, const float* const* b, float** c, int n)
{
    const int row = threadIdx.y, col = threadIdx.x, matrix = blockIdx.x;
    float sum = 0.0f;
    for (int k = 0; k < n; ++k) sum += a[matrix][row * n + k] * b[matrix][k * n + col];
    c[matrix][row * n + col] += sum;
}

// As the optimizers of PyTorch's extensions: a structure of fixed arrays, of which a launch uses a part.
struct Chunk {
    int begin;
    short length;
};
struct Chunks {
    float* addresses[2][3];
    Chunk chunks[4];
    int count;
};
__global__ void scaledChunks(Chunks of)
{
    const Chunk chunk = of.chunks[blockIdx.x];
    for (int which = 0; which < 3; ++which)
        for (int i = threadIdx.x; of.addresses[0][which] && i < chunk.length; i += blockDim.x)
            of.addresses[1][which][chunk.begin + i] = 2 * of.addresses[0][which][chunk.begin + i] + of.chunks[3].length;
}
