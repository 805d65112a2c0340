// Adds up the blocks' sums of 32-bit integers, with sum and block count in one word. It needs the macro SCALAR.
#pragma once

// Adds a block's sum to those of the others; the last block stores the total. One thread per block calls it.
__device__ inline void add_packed(SCALAR mine, unsigned long long* accumulated, SCALAR* out)
{
    // The upper half is the sum, which may wrap. The lower half counts blocks and never overflows into the upper half.
    const unsigned long long packed = (unsigned long long)(unsigned int)mine << 32 | 1u;
    const unsigned long long others = atomicAdd(accumulated, packed);
    if ((unsigned int)others == gridDim.x - 1) {
        out[0] = (SCALAR)((others + packed) >> 32);
        *accumulated = 0;  // for the next launch
    }
}
