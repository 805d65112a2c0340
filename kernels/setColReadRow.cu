// setColReadRow: each block's BLOCK_Y x BLOCK_X tile of indices, transposed:
// out[first + k] = first + k % BLOCK_Y * BLOCK_X + k / BLOCK_Y, where first is the block's first element.
//
// New against setRowReadCol: the opposite order. Stores have bank conflicts, loads have none.
// Macros: BLOCK_X and BLOCK_Y threads per block, SCALAR element type.
// Constraints: BLOCK_X * BLOCK_Y * blocks is at most 2^24, because a float represents every index only up to there.

#if !defined(BLOCK_X) || !defined(BLOCK_Y) || !defined(SCALAR)
#error "this kernel needs the macros BLOCK_X, BLOCK_Y, SCALAR"
#endif

extern "C" __global__ void setColReadRow(SCALAR* out)
{
    __shared__ SCALAR tile[BLOCK_X][BLOCK_Y];
    const int x = threadIdx.x, y = threadIdx.y;
    const int idx = y * BLOCK_X + x;
    const int first = blockIdx.x * (BLOCK_X * BLOCK_Y);  // each block has its own part of out and its own values

    tile[x][y] = (SCALAR)(first + idx);
    __syncthreads();

    // The tile is already transposed: thread idx reads element idx, row by row. In a square tile this is tile[y][x].
    const int irow = idx / BLOCK_Y, icol = idx % BLOCK_Y;
    out[first + idx] = tile[irow][icol];
}
