// The listing copyGmem of tutorial 002, 5.4.1, as it stands there, but for the name.
#define INDEX(ROW, COL, INNER) ((ROW) * (INNER) + (COL))
extern "C" __global__ void tutorialCopy(float *out, float *in, const int nrows, const int ncols)
{
    // matrix coordinate (ix,iy)
    unsigned int row = blockIdx.y * blockDim.y + threadIdx.y;
    unsigned int col = blockIdx.x * blockDim.x + threadIdx.x;

    // transpose with boundary test
    if (row < nrows && col < ncols)
    {
		// NOTE this is a transpose, not a copy
        out[INDEX(col, row, nrows)] = in[INDEX(row, col, ncols)];
    }
}
