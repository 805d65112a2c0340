// transposeSmem: out[c * rows + r] = in[r * cols + c], the transpose of a matrix of rows by cols.
//
// New against transposeGmem: a tile in shared memory transposes, so that writing is also coalesced. Bank conflicts
// remain in reading a column of the tile. (The tutorial's form writes as transposeGmem does, and reads
// tile[irow][icol], outside its row unless the tile is a square.)
// Macros: BLOCK_X and BLOCK_Y threads per block, SCALAR element type.
// Constraints: the tile fits into 48 KiB, as any block's does.

#if !defined(BLOCK_X) || !defined(BLOCK_Y) || !defined(SCALAR)
#error "this kernel needs the macros BLOCK_X, BLOCK_Y, SCALAR"
#endif

extern "C" __global__ void transposeSmem(const SCALAR* in, SCALAR* out, long long rows, long long cols)
{
    __shared__ SCALAR tile[BLOCK_Y][BLOCK_X];
    const int x = threadIdx.x, y = threadIdx.y;
    const long long top = (long long)blockIdx.y * BLOCK_Y, left = (long long)blockIdx.x * BLOCK_X;

    if (top + y < rows && left + x < cols) {
        tile[y][x] = in[(top + y) * cols + left + x];
    }
    __syncthreads();

    // The tile leaves as BLOCK_X rows of BLOCK_Y, counted anew, so that a warp writes elements side by side.
    // A thread may write where it did not read, and the other way round: both have a bound of their own.
    const int idx = y * BLOCK_X + x;
    const int irow = idx / BLOCK_Y, icol = idx % BLOCK_Y;
    if (left + irow < cols && top + icol < rows) {
        out[(left + irow) * rows + top + icol] = tile[icol][irow];
    }
}
