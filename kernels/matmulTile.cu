// matmulTile: c[i * n + j] = sum over l of a[i * k + l] * b[l * n + j], the product of matrices of m by k and k by n.
//
// New: a block computes a tile of c. It loops over k: each step loads a tile of a, transposed, and a tile of b into
//      shared memory, and each thread multiplies them into its own tile in registers. Everything that may matter has a
//      macro, so that a search can choose among half a million variants. With STAGES 2, the next tiles are loaded into
//      registers, and then into a second buffer, while the first one is used. With SPREAD 1, a thread's columns are
//      BLOCK_X apart, so that a warp reads adjacent elements.
// Macros: BLOCK_X and BLOCK_Y threads per block, PER_X columns per thread, PER_Y rows per thread, DEPTH elements of k
//      per step, VECTOR elements per load, UNROLL_K elements of k that the inner loop unrolls, STAGES buffers,
//      PADDING elements after each row of a's tile, SPREAD whether a thread's columns lie apart, GROUP rows of tiles
//      that consecutive blocks share.
// Constraints: VECTOR divides DEPTH and the columns of a tile; UNROLL_K divides DEPTH; the tiles fit into 48 KiB.

#if !defined(BLOCK_X) || !defined(BLOCK_Y) || !defined(PER_X) || !defined(PER_Y) || !defined(DEPTH) || \
    !defined(VECTOR) || !defined(UNROLL_K) || !defined(STAGES) || !defined(PADDING) || !defined(SPREAD) || \
    !defined(GROUP)
#error "this kernel needs the macros BLOCK_X, BLOCK_Y, PER_X, PER_Y, DEPTH and those of the header above"
#endif

constexpr int THREADS = BLOCK_X * BLOCK_Y;
constexpr int ROWS = BLOCK_Y * PER_Y, COLS = BLOCK_X * PER_X;  // of the tile of c
constexpr int UNROLLED = UNROLL_K;
constexpr int LOADS_A = ROWS * DEPTH / VECTOR, LOADS_B = DEPTH * COLS / VECTOR;  // vectors per step
constexpr int EACH_A = (LOADS_A + THREADS - 1) / THREADS, EACH_B = (LOADS_B + THREADS - 1) / THREADS;

struct alignas(4 * VECTOR) Vector {
    float element[VECTOR];
};

// Loads a vector of a row; what is outside the matrix is 0. `whole` rows begin at a multiple of the vector.
__device__ Vector load(const float* in, int row, int rows, int column, int columns, bool whole)
{
    Vector loaded = {};
    if (row >= rows) {
        return loaded;
    }
    const float* first = in + (size_t)row * columns;
    if (whole && column + VECTOR <= columns) {
        return *(const Vector*)(first + column);
    }
#pragma unroll
    for (int e = 0; e < VECTOR; ++e) {
        if (column + e < columns) {
            loaded.element[e] = first[column + e];
        }
    }
    return loaded;
}

extern "C" __global__ void __launch_bounds__(THREADS)
matmulTile(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c, int m, int n, int k)
{
    __shared__ float as[STAGES][DEPTH][ROWS + PADDING];
    __shared__ __align__(16) float bs[STAGES][DEPTH][COLS];
    const int x = threadIdx.x, y = threadIdx.y, t = y * BLOCK_X + x;
    const int down = (m + ROWS - 1) / ROWS, across = (n + COLS - 1) / COLS;
    const int first = blockIdx.x / (GROUP * across) * GROUP, high = min(GROUP, down - first);
    const int within = blockIdx.x % (GROUP * across);
    const int top = (first + within % high) * ROWS, left = within / high * COLS;
    const bool whole_a = k % VECTOR == 0 && (size_t)a % sizeof(Vector) == 0;
    const bool whole_b = n % VECTOR == 0 && (size_t)b % sizeof(Vector) == 0;

    float sum[PER_Y][PER_X] = {};
    Vector held_a[EACH_A], held_b[EACH_B];

    auto fetch = [&](int at) {
#pragma unroll
        for (int i = 0; i < EACH_A; ++i) {
            const int v = t + i * THREADS, row = v / (DEPTH / VECTOR), column = v % (DEPTH / VECTOR) * VECTOR;
            if (LOADS_A % THREADS == 0 || v < LOADS_A) {
                held_a[i] = load(a, top + row, m, at + column, k, whole_a);
            }
        }
#pragma unroll
        for (int i = 0; i < EACH_B; ++i) {
            const int v = t + i * THREADS, row = v / (COLS / VECTOR), column = v % (COLS / VECTOR) * VECTOR;
            if (LOADS_B % THREADS == 0 || v < LOADS_B) {
                held_b[i] = load(b, at + row, k, left + column, n, whole_b);
            }
        }
    };
    auto put = [&](int stage) {
#pragma unroll
        for (int i = 0; i < EACH_A; ++i) {
            const int v = t + i * THREADS, row = v / (DEPTH / VECTOR), column = v % (DEPTH / VECTOR) * VECTOR;
            if (LOADS_A % THREADS == 0 || v < LOADS_A) {
#pragma unroll
                for (int e = 0; e < VECTOR; ++e) {
                    as[stage][column + e][row] = held_a[i].element[e];
                }
            }
        }
#pragma unroll
        for (int i = 0; i < EACH_B; ++i) {
            const int v = t + i * THREADS, row = v / (COLS / VECTOR), column = v % (COLS / VECTOR) * VECTOR;
            if (LOADS_B % THREADS == 0 || v < LOADS_B) {
                *(Vector*)&bs[stage][row][column] = held_b[i];
            }
        }
    };
    auto column_of = [&](int j) { return SPREAD ? x + j * BLOCK_X : x * PER_X + j; };
    auto multiply = [&](int stage) {
#pragma unroll UNROLLED
        for (int i = 0; i < DEPTH; ++i) {
            float rows[PER_Y], columns[PER_X];
#pragma unroll
            for (int r = 0; r < PER_Y; ++r) {
                rows[r] = as[stage][i][y * PER_Y + r];
            }
#pragma unroll
            for (int j = 0; j < PER_X; ++j) {
                columns[j] = bs[stage][i][column_of(j)];
            }
#pragma unroll
            for (int r = 0; r < PER_Y; ++r) {
#pragma unroll
                for (int j = 0; j < PER_X; ++j) {
                    sum[r][j] += rows[r] * columns[j];
                }
            }
        }
    };

    if (STAGES == 1) {
        for (int at = 0; at < k; at += DEPTH) {
            fetch(at);
            put(0);
            __syncthreads();
            multiply(0);
            __syncthreads();
        }
    } else {
        fetch(0);
        put(0);
        __syncthreads();
        for (int at = 0, stage = 0; at < k; at += DEPTH, stage ^= 1) {
            const bool more = at + DEPTH < k;
            if (more) {
                fetch(at + DEPTH);
            }
            multiply(stage);
            if (more) {
                put(stage ^ 1);
            }
            __syncthreads();
        }
    }

#pragma unroll
    for (int r = 0; r < PER_Y; ++r) {
        const int row = top + y * PER_Y + r;
#pragma unroll
        for (int j = 0; j < PER_X; ++j) {
            const int column = left + column_of(j);
            if (row < m && column < n) {
                c[(size_t)row * n + column] = sum[r][j];
            }
        }
    }
}
