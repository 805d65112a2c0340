// copyGmem: out[r * cols + c] = in[r * cols + c], a copy of a matrix of rows by cols.
//
// New: nothing; this is the baseline and the upper bound: no transpose moves fewer bytes. (The tutorial's listing of
// this name is a transpose, as its own comment says. Here that kernel is called transposeGmem.)
// Macros: BLOCK_X and BLOCK_Y threads per block, SCALAR element type.
// Constraints: none.

#if !defined(BLOCK_X) || !defined(BLOCK_Y) || !defined(SCALAR)
#error "this kernel needs the macros BLOCK_X, BLOCK_Y, SCALAR"
#endif

extern "C" __global__ void copyGmem(const SCALAR* in, SCALAR* out, long long rows, long long cols)
{
    const int x = threadIdx.x, y = threadIdx.y;
    const long long top = (long long)blockIdx.y * BLOCK_Y, left = (long long)blockIdx.x * BLOCK_X;

    if (top + y < rows && left + x < cols) {
        out[(top + y) * cols + left + x] = in[(top + y) * cols + left + x];
    }
}
