#include <cuda_fp16.h>
#ifndef __CUDA_ALIGN__
#define __CUDA_ALIGN__(bytes) __align__(bytes)
#endif
#include "src/fastertransformer/kernels/bert_preprocess_kernels.cu"
