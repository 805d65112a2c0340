#include <mma.h>
using namespace nvcuda;
extern "C" __global__ void kernel(int *out) {
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
    __shared__ float tile[16 * 32];
    wmma::fill_fragment(sum, 1.0f);
#if MISTAKE == 1
    wmma::store_matrix_sync(tile, sum, 17, wmma::mem_row_major);
#elif MISTAKE == 2
    wmma::store_matrix_sync(tile + 1, sum, 16, wmma::mem_row_major);
#elif MISTAKE == 3
    if (threadIdx.x < 16) wmma::store_matrix_sync(tile, sum, 16, wmma::mem_row_major);
    __syncthreads();
#elif MISTAKE == 4
    wmma::store_matrix_sync(tile, sum, 16, wmma::mem_row_major);
    out[threadIdx.x] = tile[255 - threadIdx.x];
#else
    wmma::fragment<wmma::matrix_a, 8, 8, 32, half, wmma::row_major> bits;
#endif
}
