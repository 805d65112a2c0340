// setColReadCol: out[i] = i, through a tile in shared memory that is written and read column by column.
//
// New against setRowReadRow: the thread's x is the row of the tile. A warp's threads access words BLOCK_Y apart. If
// BLOCK_Y is 32, all 32 words are in one bank and are served serially, for both stores and loads.
// Macros: BLOCK_X and BLOCK_Y threads per block, SCALAR element type.
// Constraints: BLOCK_X * BLOCK_Y * blocks is at most 2^24, because a float represents every index only up to there.

#if !defined(BLOCK_X) || !defined(BLOCK_Y) || !defined(SCALAR)
#error "this kernel needs the macros BLOCK_X, BLOCK_Y, SCALAR"
#endif

extern "C" __global__ void setColReadCol(SCALAR* out)
{
    __shared__ SCALAR tile[BLOCK_X][BLOCK_Y];
    const int x = threadIdx.x, y = threadIdx.y;
    const int idx = y * BLOCK_X + x;
    const int first = blockIdx.x * (BLOCK_X * BLOCK_Y);  // each block has its own part of out and its own values

    tile[x][y] = (SCALAR)(first + idx);
    __syncthreads();

    out[first + idx] = tile[x][y];
}
