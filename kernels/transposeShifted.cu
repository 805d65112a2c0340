// transposeShifted: out[c * rows + r] = in[r * cols + c], the transpose of a matrix of rows by cols.
//
//      loads from a row of in   |...=====|========|===.....|   | begins a vector of 16 bytes, = belongs to the tile:
//                                   ^ begin                    the block loads one more vector than the tile is wide
//      stores to a row of out       |========|========|====    | begins a sector of 32 bytes, up to SECTOR - 1 rows
//                                        ^ top + SECTOR        before the tile's first row
//
// New against transposeVector: any shape, so a row may begin anywhere in a vector or a sector. A block loads aligned
//      vectors and shifts each row of them into its tile. It stores whole sectors. Some of them begin before its rows,
//      so it loads SECTOR more rows. Only row ends are stored element by element.
// Macros: BLOCK threads per block, TILE_ROWS rows per tile, TILE_COLS columns per tile, SCALAR element type.
// Constraints: TILE_ROWS and TILE_COLS are multiples of 32; BLOCK divides the number of vectors in the tile; the tile,
//      with SECTOR extra rows and one extra column, fits into 48 KiB, and a thread's part into 512 bytes of registers;
//      the arrays are aligned to 32 bytes, as cudaMalloc guarantees.

#if !defined(BLOCK) || !defined(TILE_ROWS) || !defined(TILE_COLS) || !defined(SCALAR)
#error "this kernel needs the macros BLOCK, TILE_ROWS, TILE_COLS, SCALAR"
#endif
#include "aligned_vectors.cuh"

constexpr int SECTOR = 32 / sizeof(SCALAR);      // elements
constexpr int HEIGHT = TILE_ROWS + SECTOR;       // rows that a block loads
constexpr int PER_ROW = TILE_COLS / VECTOR + 1;  // vectors that it loads per row
constexpr int PER_COLUMN = TILE_ROWS / VECTOR;   // vectors that it stores per column
constexpr int LOADS = (HEIGHT * PER_ROW + BLOCK - 1) / BLOCK, STORES = PER_COLUMN * TILE_COLS / BLOCK;  // per thread

// The distance of an index from the preceding multiple of a power of two.
__device__ int behind(long long index, int unit)
{
    return (int)(index & (unit - 1));
}

extern "C" __global__ void transposeShifted(const SCALAR* in, SCALAR* out, long long rows, long long cols)
{
    __shared__ SCALAR tile[HEIGHT][TILE_COLS + 1];
    const long long top = (long long)blockIdx.x * TILE_ROWS - SECTOR, left = (long long)blockIdx.y * TILE_COLS;
    const long long width = min((long long)TILE_COLS, cols - left);

    Vector held[LOADS] = {};
#pragma unroll
    for (int k = 0; k < LOADS; ++k) {
        const int n = k * BLOCK + threadIdx.x, y = n / PER_ROW;
        const long long begin = (top + y) * cols + left, at = begin - behind(begin, VECTOR) + n % PER_ROW * VECTOR;
        if (y < HEIGHT && top + y >= 0 && top + y < rows && at < begin + width) {
            held[k] = load(in, at, rows * cols);
        }
    }
#pragma unroll
    for (int k = 0; k < LOADS; ++k) {
        const int n = k * BLOCK + threadIdx.x, y = n / PER_ROW;
        const int x = n % PER_ROW * VECTOR - behind((top + y) * cols + left, VECTOR);
#pragma unroll
        for (int i = 0; i < VECTOR; ++i) {
            if (y < HEIGHT && x + i >= 0 && x + i < TILE_COLS) {
                tile[y][x + i] = held[k].element[i];
            }
        }
    }
    __syncthreads();

#pragma unroll
    for (int k = 0; k < STORES; ++k) {
        const int n = k * BLOCK + threadIdx.x, x = n / PER_COLUMN;
        const int y = n % PER_COLUMN * VECTOR + SECTOR - behind((left + x) * rows, SECTOR);
        Vector column;
#pragma unroll
        for (int i = 0; i < VECTOR; ++i) {
            column.element[i] = tile[y + i][x];
        }
        if (left + x < cols) {
            store(out + (left + x) * rows, top + y, rows, column);
        }
    }
}
