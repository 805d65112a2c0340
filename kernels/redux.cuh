// Sums 32-bit integers over a warp with one instruction. It needs sm_80 and the macro SCALAR.
#pragma once

__device__ inline SCALAR redux(SCALAR sum)
{
    return __reduce_add_sync(0xffffffffu, sum);
}
