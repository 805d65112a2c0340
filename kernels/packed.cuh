// Where all blocks' sums of 32-bit integers come together: sum and count in one word. It needs the macro SCALAR.
#pragma once

// Adds a block's sum to those of the others; whoever is the last stores the sum of all. One thread a block calls it.
__device__ inline void add_packed(SCALAR mine, unsigned long long* accumulated, SCALAR* out)
{
    // The sum in the upper half wraps over the top; the lower half counts, and never reaches the upper one.
    const unsigned long long packed = (unsigned long long)(unsigned int)mine << 32 | 1u;
    const unsigned long long others = atomicAdd(accumulated, packed);
    if ((unsigned int)others == gridDim.x - 1) {
        out[0] = (SCALAR)((others + packed) >> 32);
        *accumulated = 0;  // for the next launch
    }
}
