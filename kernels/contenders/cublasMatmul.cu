// cuBLAS's product of float32 matrices, without tensor cores. By columns, c^T = b^T a^T is what lies in memory by rows.

#include "cublas.h"

extern "C" int cublasMatmul(const float* a, const float* b, float* c, int m, int n, int k, cudaStream_t stream)
{
    cublasHandle_t handle;
    if (int error = cublas_on(stream, handle)) return error;
    const float one = 1.0f, zero = 0.0f;
    return cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, n, m, k, &one, b, n, a, k, &zero, c, n);
}
