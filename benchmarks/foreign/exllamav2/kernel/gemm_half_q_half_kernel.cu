// What includes this header in the library includes CUDA's half types before.
#include <cstdint>
#include <cuda_fp16.h>
#include "q_gemm_kernel.cuh"
