// transposeSwizzle: out[c * rows + r] = in[r * cols + c], the transpose of a matrix of rows by cols.
//
// New against transposeTile: no padding. Row y of the tile stores column x at x ^ (y % 32). Each of 32 rows uses a
//      different permutation, so the words of a column are in 32 banks. The tile needs no extra space, and its rows can
//      be split into vectors.
// Macros: BLOCK threads per block, TILE_ROWS rows per tile, TILE_COLS columns per tile, SCALAR element type.
// Constraints: TILE_ROWS and TILE_COLS are multiples of 32 that divide BLOCK, which divides their product; the tile
//      fits into 48 KiB.

#if !defined(BLOCK) || !defined(TILE_ROWS) || !defined(TILE_COLS) || !defined(SCALAR)
#error "this kernel needs the macros BLOCK, TILE_ROWS, TILE_COLS, SCALAR"
#endif

constexpr int EACH = TILE_ROWS * TILE_COLS / BLOCK;  // elements per thread

extern "C" __global__ void transposeSwizzle(const SCALAR* in, SCALAR* out, long long rows, long long cols)
{
    __shared__ SCALAR tile[TILE_ROWS][TILE_COLS];
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
        tile[y][x ^ (y % 32)] = held[k];
    }
    __syncthreads();

    // The block stores the tile column by column, so that a warp writes adjacent elements.
#pragma unroll
    for (int k = 0; k < EACH; ++k) {
        const int x = t / TILE_ROWS + k * (BLOCK / TILE_ROWS), y = t % TILE_ROWS;
        if (full || (left + x < cols && top + y < rows)) {
            out[(left + x) * rows + top + y] = tile[y][x ^ (y % 32)];
        }
    }
}
