// The handle of cuBLAS, made at the first call, and set to the stream that the runner measures.

#pragma once

#include <cublas_v2.h>

inline int cublas_on(cudaStream_t stream, cublasHandle_t& handle)
{
    static cublasHandle_t made = nullptr;
    if (!made) {
        if (int error = cublasCreate(&made)) return error;
    }
    handle = made;
    return cublasSetStream(made, stream);
}
