// setRowReadColPad: each block's BLOCK_Y x BLOCK_X tile of indices, transposed:
// out[first + k] = first + k % BLOCK_Y * BLOCK_X + k / BLOCK_Y, where first is the block's first element.
//
// New against setRowReadCol: PADDING extra columns. With 1, each row has 32 + 1 words and starts one bank further, so
// the 32 words of a column are in 32 banks. With a 32x16 block a warp reads 2 columns at once and needs 2.
// Macros: BLOCK_X and BLOCK_Y threads per block, PADDING padding columns, SCALAR element type.
// Constraints: BLOCK_X * BLOCK_Y * blocks is at most 2^24, because a float represents every index only up to there;
// PADDING from 0 to 32.

#if !defined(BLOCK_X) || !defined(BLOCK_Y) || !defined(PADDING) || !defined(SCALAR)
#error "this kernel needs the macros BLOCK_X, BLOCK_Y, PADDING, SCALAR"
#endif

extern "C" __global__ void setRowReadColPad(SCALAR* out)
{
    __shared__ SCALAR tile[BLOCK_Y][BLOCK_X + PADDING];
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
