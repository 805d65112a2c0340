// transposeSmemPad: out[c * rows + r] = in[r * cols + c], the transpose of a matrix of rows by cols.
//
// New against transposeSmem: PADDING extra columns. Banks are 4 bytes wide: each row has 32 + 1 words and starts one
// bank further, so the 32 words of a column are in 32 banks. (The tutorial's 2 suits 8-byte banks; with 4-byte banks,
// two words of a column share each bank.) With a 32x8 block a warp reads 4 columns at once and needs 4.
// Macros: BLOCK_X and BLOCK_Y threads per block, PADDING padding columns, SCALAR element type.
// Constraints: PADDING from 0 to 32; the tile fits into 48 KiB.

#if !defined(BLOCK_X) || !defined(BLOCK_Y) || !defined(PADDING) || !defined(SCALAR)
#error "this kernel needs the macros BLOCK_X, BLOCK_Y, PADDING, SCALAR"
#endif

extern "C" __global__ void transposeSmemPad(const SCALAR* in, SCALAR* out, long long rows, long long cols)
{
    __shared__ SCALAR tile[BLOCK_Y][BLOCK_X + PADDING];
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
