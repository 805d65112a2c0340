// transposeTile: out[c * rows + r] = in[r * cols + c], the transpose of a matrix of rows by cols.
//
// New against transposeSmemUnrollPad: the tile's shape is independent of the block, and a thread transposes several
//      elements. It loads all of them into registers before it stores the first into the tile, so many loads are in
//      flight. Consecutive blocks go down the rows: blocks that run at the same time complete each other's rows of
//      the output.
// Macros: BLOCK threads per block, TILE_ROWS rows per tile, TILE_COLS columns per tile, PADDING padding columns,
//      SCALAR element type.
// Constraints: TILE_ROWS and TILE_COLS are multiples of 32 that divide BLOCK, which divides their product; PADDING from
//      0 to 32; the tile fits into 48 KiB.

#if !defined(BLOCK) || !defined(TILE_ROWS) || !defined(TILE_COLS) || !defined(PADDING) || !defined(SCALAR)
#error "this kernel needs the macros BLOCK, TILE_ROWS, TILE_COLS, PADDING, SCALAR"
#endif

constexpr int EACH = TILE_ROWS * TILE_COLS / BLOCK;  // elements per thread

extern "C" __global__ void transposeTile(const SCALAR* in, SCALAR* out, long long rows, long long cols)
{
    __shared__ SCALAR tile[TILE_ROWS][TILE_COLS + PADDING];
    const int t = threadIdx.x;
    const long long top = (long long)blockIdx.x * TILE_ROWS, left = (long long)blockIdx.y * TILE_COLS;
    const bool full = top + TILE_ROWS <= rows && left + TILE_COLS <= cols;  // then no element needs a bounds check

    SCALAR held[EACH] = {};
#pragma unroll
    for (int k = 0; k < EACH; ++k) {
        const int x = t % TILE_COLS, y = t / TILE_COLS + k * (BLOCK / TILE_COLS);
        if (full || (top + y < rows && left + x < cols)) {
            held[k] = in[(top + y) * cols + left + x];
        }
    }
#pragma unroll
    for (int k = 0; k < EACH; ++k) {
        const int x = t % TILE_COLS, y = t / TILE_COLS + k * (BLOCK / TILE_COLS);
        tile[y][x] = held[k];
    }
    __syncthreads();

    // The block stores the tile column by column, so that a warp writes adjacent elements.
#pragma unroll
    for (int k = 0; k < EACH; ++k) {
        const int x = t / TILE_ROWS + k * (BLOCK / TILE_ROWS), y = t % TILE_ROWS;
        if (full || (left + x < cols && top + y < rows)) {
            out[(left + x) * rows + top + y] = tile[y][x];
        }
    }
}
