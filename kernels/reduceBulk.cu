// reduceBulk: out[0] = sum of in[i] for i < n, in one launch.
//
// New against reducePacked: the hardware copies tiles into shared memory (bulk copies, the one-dimensional form of
//      the Tensor Memory Accelerator). One thread requests STAGES tiles ahead, which occupies no registers.
// Macros: BLOCK threads per block, UNROLL vectors per thread and tile, STAGES tiles in flight, SCALAR element type.
// Constraints: 32-bit integers; sm_90; whole warps; UNROLL from 1 to 32. An array that is not aligned to 16 bytes is
//      loaded element by element.

#if !defined(BLOCK) || !defined(UNROLL) || !defined(STAGES) || !defined(SCALAR)
#error "this kernel needs the macros BLOCK, UNROLL, STAGES, SCALAR"
#endif
#include "bulk_copies.cuh"
#include "packed.cuh"
#include "redux.cuh"
#include "strided_sum.cuh"

extern __shared__ __align__(128) Vector tiles[];  // STAGES of them

extern "C" __global__ void reduceBulk(const SCALAR* in, SCALAR* out, unsigned long long* accumulated, long long n)
{
    __shared__ Barrier there[STAGES];
    const int t = threadIdx.x;
    const long long whole = aligned(in) ? n / TILE * TILE : 0;  // only whole tiles are copied
    const long long start = (long long)blockIdx.x * TILE, step = (long long)gridDim.x * TILE;
    const auto ask = [&](long long first, int stage) {
        if (first < whole) {
            ask_for(tiles + stage * BLOCK * UNROLL, in + first, TILE * sizeof(SCALAR), &there[stage]);
        }
    };

    if (t == 0) {
        for (int stage = 0; stage < STAGES; ++stage) {
            prepare(&there[stage]);
        }
        prepared();
        for (int stage = 0; stage < STAGES; ++stage) {
            ask(start + stage * step, stage);
        }
    }
    __syncthreads();

    Vector sum = {};
    int stage = 0, phase = 0;
    for (long long first = start; first < whole; first += step) {
        wait_for(&there[stage], phase);
#pragma unroll
        for (int k = 0; k < UNROLL; ++k) {
            add(sum, tiles[(stage * UNROLL + k) * BLOCK + t]);
        }
        __syncthreads();  // all threads have read the tile before the next one overwrites it
        if (t == 0) {
            ask(first + STAGES * step, stage);
        }
        stage = (stage + 1) % STAGES;
        phase ^= stage == 0;
    }
    for (long long i = whole + (long long)blockIdx.x * BLOCK + t; i < n; i += (long long)gridDim.x * BLOCK) {
        sum.element[0] += in[i];
    }

    const SCALAR mine = block_sum<redux>(total(sum));
    if (t == 0) {
        add_packed(mine, accumulated, out);
    }
}
