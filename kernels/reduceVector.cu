// reduceVector: out[b] = sum of in[i] for i in [b * TILE, (b + 1) * TILE), i < n, where TILE is BLOCK vectors of
//      16 bytes.
//
// New against reduceShflUnroll: a thread's elements are contiguous, and one instruction loads them: 16 bytes, the
//      maximum before sm_100. (All lanes participate, so there is no WIDTH or MASK.)
// Macros: BLOCK threads per block, SCALAR element type.
// Constraints: whole warps. An array that is not aligned to 16 bytes is loaded element by element.

#if !defined(BLOCK) || !defined(SCALAR)
#error "this kernel needs the macros BLOCK, SCALAR"
#endif
#include "vectors.cuh"

constexpr int TILE = BLOCK * PER_VECTOR;

extern "C" __global__ void reduceVector(const SCALAR* in, SCALAR* out, long long n)
{
    const int t = threadIdx.x;
    const long long first = (long long)blockIdx.x * TILE;

    Vector sum = {};
    if (aligned(in) && first + TILE <= n) {  // all threads of a block take the same branch
        const Vector* vectors = (const Vector*)(in + first) + t;
        sum.whole = vectors->whole;
    } else {
        for (long long i = first + t; i < n && i < first + TILE; i += BLOCK) {
            sum.element[0] += in[i];
        }
    }

    const SCALAR mine = block_sum(total(sum));
    if (t == 0) {
        out[blockIdx.x] = mine;
    }
}
