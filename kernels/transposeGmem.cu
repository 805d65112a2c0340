// transposeGmem: out[c * rows + r] = in[r * cols + c], the transpose of a matrix of rows by cols.
//
// New against copyGmem: the store swaps row and column. A warp reads 32 contiguous elements and writes them `rows`
// elements apart, each into a different 32-byte sector: 32 sectors instead of 4.
// Macros: BLOCK_X and BLOCK_Y threads per block, SCALAR element type.
// Constraints: none.

#if !defined(BLOCK_X) || !defined(BLOCK_Y) || !defined(SCALAR)
#error "this kernel needs the macros BLOCK_X, BLOCK_Y, SCALAR"
#endif

extern "C" __global__ void transposeGmem(const SCALAR* in, SCALAR* out, long long rows, long long cols)
{
    const int x = threadIdx.x, y = threadIdx.y;
    const long long top = (long long)blockIdx.y * BLOCK_Y, left = (long long)blockIdx.x * BLOCK_X;

    if (top + y < rows && left + x < cols) {
        out[(left + x) * rows + top + y] = in[(top + y) * cols + left + x];
    }
}
