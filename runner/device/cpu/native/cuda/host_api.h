// What the host calls, declared and defined nowhere: classes and templates of a kernel's file may mention it.
#pragma once

enum cudaError_t { cudaSuccess = 0, cudaErrorInvalidValue = 1, cudaErrorMemoryAllocation = 2, cudaErrorUnknown = 999 };
using cudaError = cudaError_t;
enum cudaMemcpyKind {
    cudaMemcpyHostToHost,
    cudaMemcpyHostToDevice,
    cudaMemcpyDeviceToHost,
    cudaMemcpyDeviceToDevice,
    cudaMemcpyDefault,
};
enum : unsigned {
    cudaMemAttachGlobal = 1,
    cudaMemAttachHost = 2,
    cudaHostAllocDefault = 0,
    cudaHostAllocPortable = 1,
    cudaHostAllocMapped = 2,
    cudaHostAllocWriteCombined = 4,
};
using cudaStream_t = struct CUstream_st*;
using cudaEvent_t = struct CUevent_st*;

extern "C" {
cudaError_t cudaFree(void*);
cudaError_t cudaFreeHost(void*);
cudaError_t cudaMemset(void*, int, size_t);
cudaError_t cudaMemcpy(void*, const void*, size_t, cudaMemcpyKind);
cudaError_t cudaMemcpyAsync(void*, const void*, size_t, cudaMemcpyKind, cudaStream_t = nullptr);
cudaError_t cudaDeviceSynchronize();
cudaError_t cudaStreamSynchronize(cudaStream_t);
cudaError_t cudaGetDevice(int*);
cudaError_t cudaGetLastError();
const char* cudaGetErrorName(cudaError_t);
const char* cudaGetErrorString(cudaError_t);
}
template <class T>
cudaError_t cudaMalloc(T**, size_t);
template <class T>
cudaError_t cudaMallocHost(T**, size_t, unsigned = 0);
template <class T>
cudaError_t cudaMallocManaged(T**, size_t, unsigned = cudaMemAttachGlobal);
template <class T>
cudaError_t cudaHostAlloc(T**, size_t, unsigned);
template <class T>
cudaError_t cudaHostGetDevicePointer(T**, void*, unsigned);
template <class T>
cudaError_t cudaMemcpyToSymbol(const T&, const void*, size_t, size_t = 0, cudaMemcpyKind = cudaMemcpyHostToDevice);
