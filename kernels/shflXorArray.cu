// shflXorArray: out[p * PER_THREAD + k] = in[q * PER_THREAD + k] for each thread p. q is the thread of p's warp
//               whose lane is p's lane ^ lanes % 32; but p itself, if that lies in a later segment or p outside MASK.
//
// New against shflXor: a thread has an array of PER_THREAD elements, and each element needs one shuffle.
// Macros: BLOCK threads per block, WIDTH lanes per segment, MASK lanes that take part, PER_THREAD elements of a thread,
//         SCALAR element type.
// Constraints: WIDTH 1, 2, 4, 8, 16 or 32; MASK not empty; PER_THREAD from 1 to 32. A lane that reads one outside MASK,
//              or one that the block does not have, receives undefined values.

#if !defined(BLOCK) || !defined(WIDTH) || !defined(MASK) || !defined(PER_THREAD) || !defined(SCALAR)
#error "this kernel needs the macros BLOCK, WIDTH, MASK, PER_THREAD, SCALAR"
#endif

extern "C" __global__ void shflXorArray(const SCALAR* in, SCALAR* out, long long n, int lanes)
{
    const int t = threadIdx.x;
    const long long first = ((long long)blockIdx.x * BLOCK + t) * PER_THREAD;

    // All indices are known when this is compiled, so the array lives in registers.
    SCALAR value[PER_THREAD] = {};  // threads out of range take part: others may name them
#pragma unroll
    for (int k = 0; k < PER_THREAD; ++k) {
        if (first + k < n) {
            value[k] = in[first + k];
        }
    }

    if (MASK >> (t % 32) & 1u) {  // a lane that the mask leaves out must not call
#pragma unroll
        for (int k = 0; k < PER_THREAD; ++k) {
            value[k] = __shfl_xor_sync(MASK, value[k], lanes, WIDTH);
        }
    }

#pragma unroll
    for (int k = 0; k < PER_THREAD; ++k) {
        if (first + k < n) {
            out[first + k] = value[k];
        }
    }
}
