// stencil1dShfl: out[i] = sum over k = 1 ... 4 of coefficient[k] * (in[i + k] - in[i - k]).
// Elements outside the array count as 0.
//
// New against stencil1dVector: a lane loads only its own vector and gets the neighbouring vectors by shuffles. The
//      first and last lane of a warp also load the vectors beyond it.
// Macros: BLOCK threads per block, SCALAR element type.
// Constraints: whole warps. A partial last vector is loaded and stored element by element; the arrays are aligned to
//      16 bytes, as cudaMalloc guarantees.

#if !defined(BLOCK) || !defined(SCALAR)
#error "this kernel needs the macros BLOCK, SCALAR"
#endif

#include "stencil_vectors.cuh"

extern "C" __global__ void stencil1dShfl(const SCALAR* in, SCALAR* out, long long n)
{
    const long long first = ((long long)blockIdx.x * BLOCK + threadIdx.x) * PER_VECTOR;

    // The lanes at both ends of a warp load the vectors beyond it.
    const int lane = threadIdx.x % 32;
    Vector near[2 * BESIDE + 1], beyond[BESIDE + 1];
    near[BESIDE] = vector_at(in, first, n);
#pragma unroll
    for (int v = 1; v <= BESIDE; ++v) {
        if (lane < v || lane >= 32 - v) {
            beyond[v] = vector_at(in, first + (lane < v ? -v : v) * PER_VECTOR, n);
        }
    }
#pragma unroll
    for (int v = 1; v <= BESIDE; ++v) {
#pragma unroll
        for (int e = 0; e < PER_VECTOR; ++e) {
            const SCALAR before = __shfl_up_sync(0xffffffffu, near[BESIDE].element[e], v);
            const SCALAR behind = __shfl_down_sync(0xffffffffu, near[BESIDE].element[e], v);
            near[BESIDE - v].element[e] = lane < v ? beyond[v].element[e] : before;
            near[BESIDE + v].element[e] = lane >= 32 - v ? beyond[v].element[e] : behind;
        }
    }

    store(out, first, n, derivative(near));
}
