// transposeShifted: out[c * rows + r] = in[r * cols + c], the transpose of a matrix of rows by cols.
//
// New against transposeVector: any shape. A row may begin anywhere in a sector of 32 bytes. A block loads the aligned
//      vectors that hold its part of a row, and of each row of the output it writes whole sectors: they begin up to a
//      sector before the tile, so it reads SECTOR rows more. Nothing but a row's ends is written by the element.
// Macros: BLOCK threads per block, TILE_ROWS rows of a tile, TILE_COLS columns of a tile, SCALAR element type.
// Constraints: TILE_ROWS and TILE_COLS multiples of 32; BLOCK divides the number of the tile's vectors; the tile, with
//      SECTOR rows and one column more, fits into 48 KiB, and a thread's part of it into 512 bytes of registers; the
//      arrays begin at multiples of 32 bytes, as allocated ones do.
// From: this project.

#if !defined(BLOCK) || !defined(TILE_ROWS) || !defined(TILE_COLS) || !defined(SCALAR)
#error "this kernel needs the macros BLOCK, TILE_ROWS, TILE_COLS, SCALAR"
#endif

constexpr int SIDE = 16 / sizeof(SCALAR), SECTOR = 32 / sizeof(SCALAR);    // elements, powers of two
constexpr int HEIGHT = TILE_ROWS + SECTOR, ACROSS = TILE_COLS / SIDE + 1;  // rows read, and vectors of each
constexpr int DOWN = TILE_ROWS / SIDE;                                     // vectors written of a row of the output
constexpr int LOADS = (HEIGHT * ACROSS + BLOCK - 1) / BLOCK, STORES = DOWN * TILE_COLS / BLOCK;  // of each thread

// 16 bytes, which one instruction loads or stores.
struct alignas(16) Vector {
    SCALAR element[SIDE];
};

extern "C" __global__ void transposeShifted(const SCALAR* in, SCALAR* out, long long rows, long long cols)
{
    __shared__ SCALAR tile[HEIGHT][TILE_COLS + 1];
    const int t = threadIdx.x;
    const long long top = (long long)blockIdx.x * TILE_ROWS - SECTOR, left = (long long)blockIdx.y * TILE_COLS;
    const long long width = min((long long)TILE_COLS, cols - left);

    Vector held[LOADS] = {};
#pragma unroll
    for (int k = 0; k < LOADS; ++k) {
        const int across = (k * BLOCK + t) % ACROSS, y = (k * BLOCK + t) / ACROSS;
        const long long begin = (top + y) * cols + left, at = (begin & -SIDE) + across * SIDE, end = begin + width;
        if (y < HEIGHT && top + y >= 0 && top + y < rows && at < end) {
            if (at + SIDE <= rows * cols) {
                held[k] = *(const Vector*)(in + at);
            } else {
#pragma unroll
                for (int i = 0; i < SIDE; ++i) {
                    held[k].element[i] = in[at + i < end ? at + i : at];  // nothing lies behind the last row
                }
            }
        }
    }
#pragma unroll
    for (int k = 0; k < LOADS; ++k) {
        const int across = (k * BLOCK + t) % ACROSS, y = (k * BLOCK + t) / ACROSS;
        const int x = across * SIDE - (int)(((top + y) * cols + left) & (SIDE - 1));
#pragma unroll
        for (int i = 0; i < SIDE; ++i) {
            if (y < HEIGHT && x + i >= 0 && x + i < TILE_COLS) {
                tile[y][x + i] = held[k].element[i];
            }
        }
    }
    __syncthreads();

    // The tile leaves column by column, each from the row on that a sector of the output begins with.
#pragma unroll
    for (int k = 0; k < STORES; ++k) {
        const int x = (k * BLOCK + t) / DOWN;
        const int y = (k * BLOCK + t) % DOWN * SIDE + SECTOR - (int)(((left + x) * rows) & (SECTOR - 1));
        const long long row = top + y;
        SCALAR* const to = out + (left + x) * rows + row;
        Vector column;
#pragma unroll
        for (int i = 0; i < SIDE; ++i) {
            column.element[i] = tile[y + i][x];
        }
        if (left + x < cols && row >= 0 && row + SIDE <= rows) {
            *(Vector*)to = column;
        } else if (left + x < cols) {
#pragma unroll
            for (int i = 0; i < SIDE; ++i) {
                if (row + i >= 0 && row + i < rows) {
                    to[i] = column.element[i];
                }
            }
        }
    }
}
