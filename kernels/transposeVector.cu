// transposeVector: out[c * rows + r] = in[r * cols + c], the transpose of a matrix of rows by cols.
//
// New against transposeSwizzle: 16 bytes per load and store, in global and in shared memory. A thread loads
//      a square block, SIDE vectors of SIDE elements, and transposes it in its registers. The tile stores columns as
//      vectors. Groups of 8 vectors are permuted differently for every SIDE columns, so the 8 lanes of a wavefront hit
//      different banks.
// Macros: BLOCK threads per block, TILE_ROWS rows per tile, TILE_COLS columns per tile, SCALAR element type.
// Constraints: rows and cols are multiples of SIDE (4 for 4-byte elements), because each row must begin with a vector;
//      TILE_ROWS is a multiple of 8 vectors, TILE_COLS of 32 elements, both at least 32; BLOCK divides the number of
//      square blocks; the tile fits into 48 KiB, and a thread's part into 512 bytes of registers; the arrays are
//      aligned to 16 bytes, as cudaMalloc guarantees.

#if !defined(BLOCK) || !defined(TILE_ROWS) || !defined(TILE_COLS) || !defined(SCALAR)
#error "this kernel needs the macros BLOCK, TILE_ROWS, TILE_COLS, SCALAR"
#endif

constexpr int SIDE = 16 / sizeof(SCALAR);
constexpr int ACROSS = TILE_COLS / SIDE, DOWN = TILE_ROWS / SIDE;  // square blocks per tile
constexpr int EACH = ACROSS * DOWN / BLOCK;                        // square blocks per thread

// 16 bytes, which one instruction loads or stores.
struct alignas(16) Vector {
    SCALAR element[SIDE];
};

extern "C" __global__ void transposeVector(const SCALAR* in, SCALAR* out, long long rows, long long cols)
{
    __shared__ Vector tile[TILE_COLS][DOWN];
    const int t = threadIdx.x;
    const long long top = (long long)blockIdx.x * TILE_ROWS, left = (long long)blockIdx.y * TILE_COLS;
    const bool full = top + TILE_ROWS <= rows && left + TILE_COLS <= cols;  // then no vector needs a bounds check

    Vector held[EACH][SIDE] = {};
#pragma unroll
    for (int k = 0; k < EACH; ++k) {
        const int x = (k * BLOCK + t) % ACROSS * SIDE, y = (k * BLOCK + t) / ACROSS * SIDE;
        if (full || (top + y < rows && left + x < cols)) {
#pragma unroll
            for (int i = 0; i < SIDE; ++i) {
                held[k][i] = *(const Vector*)(in + (top + y + i) * cols + left + x);
            }
        }
    }
#pragma unroll
    for (int k = 0; k < EACH; ++k) {
        const int across = (k * BLOCK + t) % ACROSS, down = (k * BLOCK + t) / ACROSS;
#pragma unroll
        for (int i = 0; i < SIDE; ++i) {
            Vector column;
#pragma unroll
            for (int j = 0; j < SIDE; ++j) {
                column.element[j] = held[k][j].element[i];
            }
            tile[across * SIDE + i][down ^ (across % 8)] = column;
        }
    }
    __syncthreads();

    // The block stores the tile column by column, so that a warp writes adjacent vectors.
#pragma unroll
    for (int k = 0; k < EACH * SIDE; ++k) {
        const int x = (k * BLOCK + t) / DOWN, down = (k * BLOCK + t) % DOWN;
        if (full || (left + x < cols && top + down * SIDE < rows)) {
            *(Vector*)(out + (left + x) * rows + top + down * SIDE) = tile[x][down ^ (x / SIDE % 8)];
        }
    }
}
