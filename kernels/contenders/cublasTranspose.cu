// cuBLAS's transpose: geam computes 1 in^T + 0. It takes matrices by columns: ours, by rows, is its transpose.

#include "cublas.h"

extern "C" int cublasTranspose(const float* in, float* out, long long rows, long long cols, cudaStream_t stream)
{
    cublasHandle_t handle;
    if (int error = cublas_on(stream, handle)) return error;
    const float one = 1.0f, zero = 0.0f;
    const int m = static_cast<int>(rows), n = static_cast<int>(cols);
    return cublasSgeam(handle, CUBLAS_OP_T, CUBLAS_OP_N, m, n, &one, in, n, &zero, out, m, out, m);
}
