// The listing transposeSmem of tutorial 002, 5.4.2, as it stands there, but for its comments and the name.
#define INDEX(ROW, COL, INNER) ((ROW) * (INNER) + (COL))

extern "C" __global__ void tutorialTranspose(float *out, float *in, int nrows, int ncols)
{
    __shared__ float tile[BDIMY][BDIMX];

    unsigned int row = blockDim.y * blockIdx.y + threadIdx.y;
    unsigned int col = blockDim.x * blockIdx.x + threadIdx.x;

    unsigned int offset = INDEX(row, col, ncols);

    unsigned int bidx = threadIdx.y * blockDim.x + threadIdx.x;
    unsigned int irow = bidx / blockDim.y;
    unsigned int icol = bidx % blockDim.y;
    unsigned int transposed_offset = INDEX(col, row, nrows);
    if(row < nrows && col < ncols){
        tile[threadIdx.y][threadIdx.x] = in[offset];
    }
    __syncthreads();

    if(row < nrows && col < ncols){
        out[transposed_offset] = tile[irow][icol];
    }
}
