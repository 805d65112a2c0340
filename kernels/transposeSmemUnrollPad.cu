// transposeSmemUnrollPad: out[c * rows + r] = in[r * cols + c], the transpose of a matrix of rows by cols.
//
// New against transposeSmemUnroll: PADDING extra columns after the last tile. With 1, each row starts one bank further
// than the row above, if the total width of the tiles is a multiple of 32; see transposeSmemPad.
// Macros: BLOCK_X and BLOCK_Y threads per block, UNROLL tiles per block, PADDING padding columns, SCALAR element type.
// Constraints: UNROLL from 1 to 16; PADDING from 0 to 32; the tiles fit into 48 KiB.

#if !defined(BLOCK_X) || !defined(BLOCK_Y) || !defined(UNROLL) || !defined(PADDING) || !defined(SCALAR)
#error "this kernel needs the macros BLOCK_X, BLOCK_Y, UNROLL, PADDING, SCALAR"
#endif

extern "C" __global__ void transposeSmemUnrollPad(const SCALAR* in, SCALAR* out, long long rows, long long cols)
{
    __shared__ SCALAR tile[BLOCK_Y][BLOCK_X * UNROLL + PADDING];
    const int x = threadIdx.x, y = threadIdx.y;
    const long long top = (long long)blockIdx.y * BLOCK_Y, left = (long long)blockIdx.x * BLOCK_X * UNROLL;

    // All loads come before the barrier: they do not depend on each other, and one barrier is enough for all.
#pragma unroll
    for (int k = 0; k < UNROLL; ++k) {
        const int column = k * BLOCK_X + x;
        if (top + y < rows && left + column < cols) {
            tile[y][column] = in[(top + y) * cols + left + column];
        }
    }
    __syncthreads();

    // The block stores each tile as BLOCK_X rows of BLOCK_Y, so that a warp writes adjacent elements. A thread
    // stores a different element than it loaded, so loads and stores have separate bounds.
    const int idx = y * BLOCK_X + x;
    const int irow = idx / BLOCK_Y, icol = idx % BLOCK_Y;
#pragma unroll
    for (int k = 0; k < UNROLL; ++k) {
        const int column = k * BLOCK_X + irow;
        if (left + column < cols && top + icol < rows) {
            out[(left + column) * rows + top + icol] = tile[icol][column];
        }
    }
}
