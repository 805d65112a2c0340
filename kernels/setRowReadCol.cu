// setRowReadCol: each block's BLOCK_Y x BLOCK_X tile of indices, transposed:
// out[first + k] = first + k % BLOCK_Y * BLOCK_X + k / BLOCK_Y, where first is the block's first element.
//
// New against setRowReadRow: the tile is read column by column. Loads have bank conflicts, stores have none.
// Macros: BLOCK_X and BLOCK_Y threads per block, SCALAR element type.
// Constraints: BLOCK_X * BLOCK_Y * blocks is at most 2^24, because a float represents every index only up to there.

#if !defined(BLOCK_X) || !defined(BLOCK_Y) || !defined(SCALAR)
#error "this kernel needs the macros BLOCK_X, BLOCK_Y, SCALAR"
#endif

extern "C" __global__ void setRowReadCol(SCALAR* out)
{
    __shared__ SCALAR tile[BLOCK_Y][BLOCK_X];
    const int x = threadIdx.x, y = threadIdx.y;
    const int idx = y * BLOCK_X + x;
    const int first = blockIdx.x * (BLOCK_X * BLOCK_Y);  // each block has its own part of out and its own values

    tile[y][x] = (SCALAR)(first + idx);
    __syncthreads();

    // Thread idx reads element idx of the transposed tile, which has BLOCK_X rows of BLOCK_Y. Its row and column there
    // are column and row here; in a square tile this is tile[x][y].
    const int irow = idx / BLOCK_Y, icol = idx % BLOCK_Y;
    out[first + idx] = tile[icol][irow];
}
