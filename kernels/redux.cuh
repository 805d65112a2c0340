// The sum over a warp by one instruction, for 32-bit integers; it needs sm_80 and the macro SCALAR.
#pragma once

__device__ inline SCALAR redux(SCALAR sum)
{
    return __reduce_add_sync(0xffffffffu, sum);
}
