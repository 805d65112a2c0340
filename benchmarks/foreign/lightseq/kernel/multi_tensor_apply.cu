#include "multi_tensor_apply.cuh"

// What a chunk of a tensor is worked on with, as apex' ScaleFunctor: to = factor * from + more.
struct Scale {
  float factor;

  __device__ void operator()(int chunk_size, volatile int* noop_flag,
                             lightseq::cuda::TensorListMetadata<2>& tl, float more) {
    if (*noop_flag == 1) return;
    const int tensor = tl.block_to_tensor[blockIdx.x], first = tl.block_to_chunk[blockIdx.x] * chunk_size;
    const float* from = (const float*)tl.addresses[0][tensor] + first;
    float* to = (float*)tl.addresses[1][tensor] + first;
    for (int i = threadIdx.x; i < chunk_size && first + i < tl.sizes[tensor]; i += blockDim.x)
      to[i] = factor * from[i] + more;
  }
};
