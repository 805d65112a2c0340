// transposeSmem: out[c * rows + r] = in[r * cols + c], the transpose of a matrix of rows by cols.
//
// New against transposeGmem: the block transposes a tile in shared memory, so that stores are also coalesced. Reading a
// column of the tile has bank conflicts. (The tutorial's form stores like transposeGmem and reads tile[irow][icol],
// which is out of bounds unless the tile is square.)
// Macros: BLOCK_X and BLOCK_Y threads per block, SCALAR element type.
// Constraints: the tile must fit into 48 KiB; every allowed block's tile does.

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

    // The block stores the tile as BLOCK_X rows of BLOCK_Y, so that a warp writes adjacent elements. A thread
    // stores a different element than it loaded, so loads and stores have separate bounds.
    const int idx = y * BLOCK_X + x;
    const int irow = idx / BLOCK_Y, icol = idx % BLOCK_Y;
    if (left + irow < cols && top + icol < rows) {
        out[(left + irow) * rows + top + icol] = tile[icol][irow];
    }
}
