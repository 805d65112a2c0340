// stencil1dVector: out[i] = sum over k = 1 ... 4 of coefficient[k] * (in[i + k] - in[i - k]).
// Elements outside the array count as 0.
//
// New against stencil1dConstant: no shared memory and no barrier. A thread computes a 16-byte vector from its own and
//      the neighbouring vectors, all loaded from global memory. Neighbouring threads load the same vectors, so they
//      hit in L1. A block computes one tile.
// Macros: BLOCK threads per block, SCALAR element type.
// Constraints: none. A partial last vector is loaded and stored element by element; the arrays are aligned to 16
//      bytes, as cudaMalloc guarantees.

#if !defined(BLOCK) || !defined(SCALAR)
#error "this kernel needs the macros BLOCK, SCALAR"
#endif

#include "stencil_vectors.cuh"

extern "C" __global__ void stencil1dVector(const SCALAR* in, SCALAR* out, long long n)
{
    const long long first = ((long long)blockIdx.x * BLOCK + threadIdx.x) * PER_VECTOR;

    Vector near[2 * BESIDE + 1];
#pragma unroll
    for (int v = 0; v < 2 * BESIDE + 1; ++v) {
        near[v] = vector_at(in, first + (v - BESIDE) * PER_VECTOR, n);
    }

    store(out, first, n, derivative(near));
}
