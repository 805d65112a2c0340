// setRowReadColDyn: each block's BLOCK_Y x BLOCK_X tile of indices, transposed:
// out[first + k] = first + k % BLOCK_Y * BLOCK_X + k / BLOCK_Y, where first is the block's first element.
//
// New against setRowReadCol: the launch sets the tile's size, not the source. Such an array is one-dimensional, so
// row and column become one index. The conflicts are the same.
// Macros: BLOCK_X and BLOCK_Y threads per block, SCALAR element type.
// Constraints: BLOCK_X * BLOCK_Y * blocks is at most 2^24, up to which a float holds every index.

#if !defined(BLOCK_X) || !defined(BLOCK_Y) || !defined(SCALAR)
#error "this kernel needs the macros BLOCK_X, BLOCK_Y, SCALAR"
#endif

extern "C" __global__ void setRowReadColDyn(SCALAR* out)
{
    extern __shared__ SCALAR tile[];  // BLOCK_Y rows of BLOCK_X
    const int x = threadIdx.x, y = threadIdx.y;
    const int idx = y * BLOCK_X + x;
    const int first = blockIdx.x * (BLOCK_X * BLOCK_Y);  // each block has a stretch of its own, and values of its own

    tile[y * BLOCK_X + x] = (SCALAR)(first + idx);
    __syncthreads();

    // Thread idx wants element idx of the transposed tile, which has BLOCK_X rows of BLOCK_Y. Its row and column there
    // are column and row here; in a square that is tile[x][y].
    const int irow = idx / BLOCK_Y, icol = idx % BLOCK_Y;
    out[first + idx] = tile[icol * BLOCK_X + irow];
}
