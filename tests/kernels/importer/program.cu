#include <cstdio>
#include <cstdlib>
#include <vector>
#define CEIL_DIV(a, b) (((a) + (b) - 1) / (b))
#define CHECK(call) if ((call) != cudaSuccess) exit(1)
#define TILE 16
const int THREADS = 128;

__device__ float squared(float x) { return x * x; }

__global__ void combine(const float* x, const float* y, float* z, float alpha, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    z[i] = alpha * x[i] + squared(y[i]);
}

template <int BM, int BN>
__global__ void product(const float* A, const float* B, float* C, int M, int N, int K)
{
    __shared__ float as[BM][TILE], bs[TILE][BN];
    const int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * BM + y, col = blockIdx.x * BN + x;
    float sum = 0;
    for (int k = 0; k < K; k += TILE) {
        as[y][x] = A[row * K + k + x];
        bs[y][x] = B[(k + y) * N + col];
        __syncthreads();
        for (int i = 0; i < TILE; ++i) sum += as[y][i] * bs[i][x];
        __syncthreads();
    }
    C[row * N + col] = sum;
}

__global__ void total(const int* counts, int* sums)
{
    __shared__ int held[THREADS];
    const int tid = threadIdx.x, i = blockIdx.x * blockDim.x + tid;
    held[tid] = counts[i];
    __syncthreads();
    for (int half = blockDim.x / 2; half > 0; half >>= 1) {
        if (tid < half) held[tid] += held[tid + half];
        __syncthreads();
    }
    if (tid == 0) sums[blockIdx.x] = held[0];
}

__global__ void hello() { printf("%d\n", threadIdx.x); }

void product_cpu(const float* A, const float* B, float* C, int M, int N, int K)
{
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            float sum = 0;
            for (int k = 0; k < K; k++) sum += A[i * K + k] * B[k * N + j];
            C[i * N + j] = sum;
        }
}

void fill(float* a, int count)
{
    for (int i = 0; i < count; i++) a[i] = 2.0f * rand() / RAND_MAX - 1.0f;
}

void launch_product(const float* A, const float* B, float* C, int m, int n, int k)
{
    dim3 block(16, 16), grid(CEIL_DIV(n, 16), CEIL_DIV(m, 16));
    product<16, 16><<<grid, block>>>(A, B, C, m, n, k);
}

int main(int argc, char** argv)
{
    int numElements = 50000;
    if (argc > 1) numElements = atoi(argv[1]);
    size_t bytes = numElements * sizeof(float);
    std::vector<float> x(numElements), y(numElements);
    for (int i = 0; i < numElements; ++i) {
        x[i] = rand() / (float)RAND_MAX;
        y[i] = i;
    }
    float *d_x, *d_y, *d_z;
    CHECK(cudaMalloc((void**)&d_x, bytes));
    CHECK(cudaMalloc((void**)&d_y, bytes));
    CHECK(cudaMalloc((void**)&d_z, bytes));
    cudaMemcpy(d_x, x.data(), bytes, cudaMemcpyHostToDevice);
    cudaMemcpy(d_y, y.data(), bytes, cudaMemcpyHostToDevice);
    int threads = 256;
    int blocks = (numElements + threads - 1) / threads;
    combine<<<blocks, threads>>>(d_x, d_y, d_z, 0.5f, numElements);
    cudaMemcpy(x.data(), d_z, bytes, cudaMemcpyDeviceToHost);

    int M = 64, N = 32, K = 48;
    float *A = (float*)malloc(M * K * sizeof(float)), *B = (float*)malloc(K * N * sizeof(float)), *dA, *dB, *dC;
    fill(A, M * K);
    fill(B, K * N);
    cudaMalloc(&dA, M * K * sizeof(float));
    cudaMalloc(&dB, K * N * sizeof(float));
    cudaMalloc(&dC, M * N * sizeof(float));
    cudaMemcpy(dA, A, M * K * sizeof(float), cudaMemcpyHostToDevice);
    cudaMemcpy(dB, B, K * N * sizeof(float), cudaMemcpyHostToDevice);
    launch_product(dA, dB, dC, M, N, K);

    int count = 1 << 12, *counts, *sums;
    cudaMallocManaged(&counts, count * sizeof(int));
    cudaMallocManaged(&sums, count / THREADS * sizeof(int));
    for (int i = 0; i < count; i++) counts[i] = rand() % 10;
    total<<<count / THREADS, THREADS>>>(counts, sums);
    hello<<<1, 32>>>();
}
