// reduceFlagged: out[0] = sum of in[i] for i < n, in one launch; bitwise reproducible for floats.
//
// New against reduceStream: a partial sum and its flag are stored together, so no fence is needed between the sum and
//      the counter. That saves one round trip to memory.
// Macros: BLOCK threads per block, UNROLL vectors in flight, STREAM 1 to use streaming loads, SCALAR element type.
// Constraints: elements of 4 bytes; whole warps; UNROLL from 1 to 32. An array that is not aligned to 16 bytes is
//      loaded element by element.

#if !defined(BLOCK) || !defined(UNROLL) || !defined(STREAM) || !defined(SCALAR)
#error "this kernel needs the macros BLOCK, UNROLL, STREAM, SCALAR"
#endif
#include "strided_sum.cuh"

// A partial sum and its ready flag, in one 8-byte store: no thread sees half of it.
union Flagged {
    unsigned long long both;
    struct {
        SCALAR sum;
        unsigned int there;
    };
};

extern "C" __global__ void reduceFlagged(const SCALAR* in, SCALAR* out, volatile unsigned long long* partial,
                                         unsigned int* finished, long long n)
{
    __shared__ bool last;
    const int t = threadIdx.x;
    Flagged mine = {};
    mine.sum = block_sum(strided_sum<STREAM>(in, n));  // the loop of reduceGridStride
    mine.there = 1;
    if (t == 0) {
        partial[blockIdx.x] = mine.both;
        last = atomicInc(finished, gridDim.x - 1) == gridDim.x - 1;  // the last block resets it to 0
    }
    __syncthreads();

    if (last) {
        SCALAR sum = 0;
#pragma unroll 1  // keeps the code short: code that runs once must be fetched from memory, too
        for (unsigned int b = t; b < gridDim.x; b += BLOCK) {  // a fixed order makes float sums reproducible
            Flagged other;
            do {
                other.both = partial[b];
            } while (!other.there);  // the store is on its way: its block has incremented the counter
            sum += other.sum;
            partial[b] = 0;  // for the next launch
        }
        sum = block_sum(sum);
        if (t == 0) {
            out[0] = sum;
        }
    }
}
