// setRowReadRow: out[i] = i, through a tile in shared memory that is written and read row by row.
//
// New: nothing; this is the baseline. A warp's 32 threads access 32 adjacent words, one in each bank: no conflict.
// The tutorial launches one block. With many, each with its own part of out, the time shows what the tile costs.
// Macros: BLOCK_X and BLOCK_Y threads per block, SCALAR element type.
// Constraints: BLOCK_X * BLOCK_Y * blocks is at most 2^24, because a float represents every index only up to there.

#if !defined(BLOCK_X) || !defined(BLOCK_Y) || !defined(SCALAR)
#error "this kernel needs the macros BLOCK_X, BLOCK_Y, SCALAR"
#endif

extern "C" __global__ void setRowReadRow(SCALAR* out)
{
    __shared__ SCALAR tile[BLOCK_Y][BLOCK_X];
    const int x = threadIdx.x, y = threadIdx.y;
    const int idx = y * BLOCK_X + x;
    const int first = blockIdx.x * (BLOCK_X * BLOCK_Y);  // each block has its own part of out and its own values

    tile[y][x] = (SCALAR)(first + idx);
    __syncthreads();

    out[first + idx] = tile[y][x];
}
