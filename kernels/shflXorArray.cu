// shflXorArray: out[p * PER_THREAD + k] = in[q * PER_THREAD + k] for each thread p. q is in p's warp, and q's lane
//               is (p's lane) ^ (lane_mask % 32). If q is in a later segment, or p is outside MASK, q is p.
//
// New against shflXor: a thread has an array of PER_THREAD elements, and each element needs one shuffle.
// Macros: BLOCK threads per block, WIDTH lanes per segment, MASK lanes that participate, PER_THREAD elements per
//         thread, SCALAR element type.
// Constraints: WIDTH 1, 2, 4, 8, 16 or 32; MASK not empty; PER_THREAD from 1 to 32. A lane whose source is outside
//              MASK, or not in the block, receives undefined values.

#if !defined(BLOCK) || !defined(WIDTH) || !defined(MASK) || !defined(PER_THREAD) || !defined(SCALAR)
#error "this kernel needs the macros BLOCK, WIDTH, MASK, PER_THREAD, SCALAR"
#endif

extern "C" __global__ void shflXorArray(const SCALAR* in, SCALAR* out, long long n, int lane_mask)
{
    const int t = threadIdx.x;
    const long long first = ((long long)blockIdx.x * BLOCK + t) * PER_THREAD;

    // All indices are compile-time constants, so the array is in registers.
    SCALAR value[PER_THREAD] = {};  // threads out of range participate: other lanes may read them
#pragma unroll
    for (int k = 0; k < PER_THREAD; ++k) {
        if (first + k < n) {
            value[k] = in[first + k];
        }
    }

    if (MASK >> (t % 32) & 1u) {  // a lane outside the mask must not call
#pragma unroll
        for (int k = 0; k < PER_THREAD; ++k) {
            value[k] = __shfl_xor_sync(MASK, value[k], lane_mask, WIDTH);
        }
    }

#pragma unroll
    for (int k = 0; k < PER_THREAD; ++k) {
        if (first + k < n) {
            out[first + k] = value[k];
        }
    }
}
