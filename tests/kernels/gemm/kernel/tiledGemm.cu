__global__ void tiledGemm(const float* A, const float* B, float* C, int M, int N, int K, int lda)
{
    __shared__ float as[BM][BK], bs[BK][BN];
    const int row = blockIdx.y * BM, col = blockIdx.x * BN;
    const int y = threadIdx.x / (BN / TN) * TM, x = threadIdx.x % (BN / TN) * TN;
    float sum[TM][TN] = {};
    for (int first = 0; first < K; first += BK) {
        for (int i = threadIdx.x; i < BM * BK; i += THREADS) {
            const int r = row + i / BK, c = first + i % BK;
            as[i / BK][i % BK] = r < M && c < K ? A[r * lda + c] : 0.0f;
        }
        for (int i = threadIdx.x; i < BK * BN; i += THREADS) {
            const int r = first + i / BN, c = col + i % BN;
            bs[i / BN][i % BN] = r < K && c < N ? B[r * N + c] : 0.0f;
        }
        __syncthreads();
        for (int k = 0; k < BK; ++k)
            for (int i = 0; i < TM; ++i)
                for (int j = 0; j < TN; ++j) sum[i][j] += as[y + i][k] * bs[k][x + j];
        __syncthreads();
    }
    for (int i = 0; i < TM; ++i)
        for (int j = 0; j < TN; ++j)
            if (row + y + i < M && col + x + j < N) C[(row + y + i) * N + col + x + j] = sum[i][j];
}
