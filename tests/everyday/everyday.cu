// Short kernels of everyday kinds; everyday.yaml has a kernel's YAML for each.
#include <cuda_fp16.h>

__global__ void softmaxRows(const float* in, float* out, int cols)
{
    __shared__ float s[128];
    const float* x = in + blockIdx.x * cols;
    float most = -INFINITY, sum = 0.0f;
    for (int i = threadIdx.x; i < cols; i += 128) most = fmaxf(most, x[i]);
    s[threadIdx.x] = most;
    __syncthreads();
    for (int d = 64; d; d /= 2) {
        if (threadIdx.x < d) s[threadIdx.x] = fmaxf(s[threadIdx.x], s[threadIdx.x + d]);
        __syncthreads();
    }
    most = s[0];
    __syncthreads();
    for (int i = threadIdx.x; i < cols; i += 128) sum += expf(x[i] - most);
    s[threadIdx.x] = sum;
    __syncthreads();
    for (int d = 64; d; d /= 2) {
        if (threadIdx.x < d) s[threadIdx.x] += s[threadIdx.x + d];
        __syncthreads();
    }
    for (int i = threadIdx.x; i < cols; i += 128) out[blockIdx.x * cols + i] = expf(x[i] - most) / s[0];
}

__global__ void softmaxOnline(const float* in, float* out, int rows, int cols)
{
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    float most = -INFINITY, sum = 0.0f;
    for (int i = 0; i < cols; ++i) {
        const float x = in[row * cols + i], higher = fmaxf(most, x);
        sum = sum * exp2f((most - higher) * 1.44269504f) + exp2f((x - higher) * 1.44269504f);
        most = higher;
    }
    for (int i = 0; i < cols; ++i) out[row * cols + i] = exp2f((in[row * cols + i] - most) * 1.44269504f) / sum;
}

__global__ void layerNorm(const float* in, const float* weight, const float* bias, float* out, float* mean, float* rstd,
                          int rows, int cols, float epsilon)
{
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    const float* x = in + row * cols;
    float sum = 0.0f, squares = 0.0f;
    for (int i = 0; i < cols; ++i) sum += x[i];
    const float m = sum / cols;
    for (int i = 0; i < cols; ++i) squares += (x[i] - m) * (x[i] - m);
    const float s = rsqrtf(squares / cols + epsilon);
    for (int i = 0; i < cols; ++i) out[row * cols + i] = (x[i] - m) * s * weight[i] + bias[i];
    mean[row] = m;
    rstd[row] = s;
}

__global__ void gemm(const float* a, const float* b, float* c, int m, int n, int k, float alpha, float beta)
{
    __shared__ float as[16][16], bs[16][17];
    const int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x;
    float sum = 0.0f;
    for (int t = 0; t < k; t += 16) {
        as[threadIdx.y][threadIdx.x] = row < m && t + threadIdx.x < k ? a[row * k + t + threadIdx.x] : 0.0f;
        bs[threadIdx.y][threadIdx.x] = col < n && t + threadIdx.y < k ? b[(t + threadIdx.y) * n + col] : 0.0f;
        __syncthreads();
        for (int i = 0; i < 16; ++i) sum += as[threadIdx.y][i] * bs[i][threadIdx.x];
        __syncthreads();
    }
    if (row < m && col < n) c[row * n + col] = alpha * sum + beta * c[row * n + col];
}

__global__ void gemmInt8(const signed char* a, const signed char* b, int* c, int m, int n, int k)
{
    const int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x;
    if (row >= m || col >= n) return;
    int sum = 0;
    for (int i = 0; i < k; ++i) sum += a[row * k + i] * b[i * n + col];
    c[row * n + col] = sum;
}

__global__ void gemv(const float* a, const float* x, float* y, int rows, int cols)
{
    const int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32, lane = threadIdx.x % 32;
    if (row >= rows) return;
    float sum = 0.0f;
    for (int i = lane; i < cols; i += 32) sum += a[row * cols + i] * x[i];
    for (int d = 16; d; d /= 2) sum += __shfl_down_sync(0xffffffffu, sum, d);
    if (lane == 0) y[row] = sum;
}

__global__ void histogram(const unsigned char* in, int* out, int n)
{
    __shared__ int bins[256];
    for (int i = threadIdx.x; i < 256; i += blockDim.x) bins[i] = 0;
    __syncthreads();
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(&bins[in[i]], 1);
    __syncthreads();
    for (int i = threadIdx.x; i < 256; i += blockDim.x) atomicAdd(&out[i], bins[i]);
}

__global__ void spmvCsr(const int* start, const int* column, const float* value, const float* x, float* y, int rows)
{
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    float sum = 0.0f;
    for (int i = start[row]; i < start[row + 1]; ++i) sum += value[i] * x[column[i]];
    y[row] = sum;
}

__global__ void argmaxRows(const float* in, int* where, float* most, int rows, int cols)
{
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    int best = 0;
    for (int i = 1; i < cols; ++i)
        if (in[row * cols + i] > in[row * cols + best]) best = i;
    where[row] = best;
    most[row] = in[row * cols + best];
}

__global__ void scanBlocks(const float* in, float* out)
{
    __shared__ float s[128];
    const int i = blockIdx.x * 128 + threadIdx.x;
    s[threadIdx.x] = in[i];
    __syncthreads();
    for (int d = 1; d < 128; d *= 2) {
        const float left = threadIdx.x >= d ? s[threadIdx.x - d] : 0.0f;
        __syncthreads();
        s[threadIdx.x] += left;
        __syncthreads();
    }
    out[i] = s[threadIdx.x];
}

__global__ void embedding(const int* token, const __half* table, const __half* position, __half* out, int dim, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n * dim) out[i] = __hadd(table[token[i / dim] * dim + i % dim], position[i]);
}

struct Particle {
    float4 place;
    float3 speed;
    int id;
};

__global__ void unpack(const Particle* in, float* x, float* speed, int* id, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    x[i] = in[i].place.x;
    speed[i] = in[i].speed.x, speed[n + i] = in[i].speed.y, speed[2 * n + i] = in[i].speed.z;
    id[i] = in[i].id;
}

__global__ void nbody(const float4* body, float4* force, int n, float softening)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float x = 0.0f, y = 0.0f, z = 0.0f;
    for (int j = 0; j < n; ++j) {
        const float dx = body[j].x - body[i].x, dy = body[j].y - body[i].y, dz = body[j].z - body[i].z;
        const float inverse = rsqrtf(dx * dx + dy * dy + dz * dz + softening);
        const float s = body[j].w * inverse * inverse * inverse;
        x += dx * s, y += dy * s, z += dz * s;
    }
    force[i] = make_float4(x, y, z, 0.0f);
}

__constant__ float filter[9];
__global__ void conv2d(const float* in, float* out, int rows, int cols)
{
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= cols - 2 || y >= rows - 2) return;
    float sum = 0.0f;
    for (int i = 0; i < 9; ++i) sum += filter[i] * in[(y + i / 3) * cols + x + i % 3];
    out[y * (cols - 2) + x] = sum;
}

__global__ void gelu(const float* in, float* exact, float* approximate, float* relu, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const float x = in[i];
    exact[i] = 0.5f * x * (1.0f + erff(x * 0.70710678f));
    approximate[i] = 0.5f * x * (1.0f + tanhf(0.79788456f * (x + 0.044715f * x * x * x)));
    relu[i] = fmaxf(x, 0.0f);
}

// One row of queries a thread; what lies ahead of it is masked.
__global__ void attention(const float* q, const float* k, const float* v, float* out, int n, int dim, float scale)
{
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= n) return;
    float most = -INFINITY, sum = 0.0f, total[16] = {};
    for (int j = 0; j <= row; ++j) {
        float score = 0.0f;
        for (int d = 0; d < dim; ++d) score += q[row * dim + d] * k[j * dim + d];
        score *= scale;
        const float higher = fmaxf(most, score), again = expf(most - higher), weight = expf(score - higher);
        sum = sum * again + weight;
        for (int d = 0; d < dim; ++d) total[d] = total[d] * again + weight * v[j * dim + d];
        most = higher;
    }
    for (int d = 0; d < dim; ++d) out[row * dim + d] = total[d] / sum;
}

__global__ void maxPool(const float* in, float* out, float* average, int rows, int cols)
{
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= cols / 2 || y >= rows / 2) return;
    const float* p = in + 2 * y * cols + 2 * x;
    out[y * (cols / 2) + x] = fmaxf(fmaxf(p[0], p[1]), fmaxf(p[cols], p[cols + 1]));
    average[y * (cols / 2) + x] = (p[0] + p[1] + p[cols] + p[cols + 1]) * 0.25f;
}

__global__ void scatterAdd(const int* bin, const float* weight, float* out, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(&out[bin[i]], weight[i]);
}

__global__ void sortRows(float* data, int cols)
{
    float* x = data + blockIdx.x * cols;
    for (int round = 0; round < cols; ++round) {
        const int i = 2 * threadIdx.x + round % 2;
        if (i + 1 < cols && x[i] > x[i + 1]) {
            const float left = x[i];
            x[i] = x[i + 1];
            x[i + 1] = left;
        }
        __syncthreads();
    }
}

__global__ void lowerBound(const int* sorted, const int* wanted, int* out, int n, int m)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= m) return;
    int low = 0, high = n;
    while (low < high) {
        const int middle = (low + high) / 2;
        if (sorted[middle] < wanted[i]) low = middle + 1;
        else high = middle;
    }
    out[i] = low;
}

// Divides where it may; what is beyond its reach is left undefined.
__global__ void quotients(const float* a, const float* b, float* out, float* products, int rows, int cols)
{
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    float product = 1.0f;
    for (int i = 0; i < cols; ++i) {
        product *= a[row * cols + i];
        if (fabsf(b[row * cols + i]) > 0.5f) out[row * cols + i] = a[row * cols + i] / b[row * cols + i];
    }
    products[row] = product;
}

__global__ void crossEntropy(const float* logits, const float* target, float* loss, int rows, int cols)
{
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    float most = -INFINITY, sum = 0.0f, chosen = 0.0f;
    for (int i = 0; i < cols; ++i) most = fmaxf(most, logits[row * cols + i]);
    for (int i = 0; i < cols; ++i) {
        sum += expf(logits[row * cols + i] - most);
        chosen += target[row * cols + i] * logits[row * cols + i];
    }
    loss[row] = logf(sum) - (chosen - most);
}

__global__ void scatter(const int* place, const float* in, float* out, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[place[i]] = in[i];
}
