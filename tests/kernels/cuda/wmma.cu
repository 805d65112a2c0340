// A tile of a matrix product by nvcuda::wmma, in each shape and type. The macros say which.
#include <cuda_bf16.h>
#include <mma.h>

using namespace nvcuda;

#if defined(TF32)
using Element = wmma::precision::tf32;
using Stored = float;
#else
using Element = FACTOR;
using Stored = FACTOR;
#endif

template <class LayoutA, class LayoutB>
__device__ void product(const Stored *a, const Stored *b, const SUM *c, SUM *d, SUM *element_wise, wmma::layout_t layout)
{
    constexpr bool a_by_rows = std::is_same<LayoutA, wmma::row_major>::value;
    constexpr bool b_by_rows = std::is_same<LayoutB, wmma::row_major>::value;
    constexpr int columns = 2 * N, rows = 32;  // the tiles are parts of larger matrices
    const bool by_rows = layout == wmma::mem_row_major;
    wmma::fragment<wmma::matrix_a, M, N, K, Element, LayoutA> left;
    wmma::fragment<wmma::matrix_b, M, N, K, Element, LayoutB> right;
    wmma::fragment<wmma::accumulator, M, N, K, SUM> sum, added;
    wmma::fill_fragment(sum, SUM(0));
    for (int k = 0; k < 2 * K; k += K) {
        wmma::load_matrix_sync(left, a + (a_by_rows ? k : k * rows), a_by_rows ? 2 * K : rows);
        wmma::load_matrix_sync(right, b + (b_by_rows ? k * columns : k), b_by_rows ? columns : 2 * K);
#if defined(TF32)
        for (int i = 0; i < left.num_elements; ++i) left.x[i] = wmma::__float_to_tf32(left.x[i]);
        for (int i = 0; i < right.num_elements; ++i) right.x[i] = wmma::__float_to_tf32(right.x[i]);
#endif
        wmma::mma_sync(sum, left, right, sum);
    }
    wmma::load_matrix_sync(added, c, by_rows ? columns : rows, layout);
    wmma::store_matrix_sync(d, sum, by_rows ? columns : rows, layout);
    for (int i = 0; i < sum.num_elements; ++i) added.x[i] = sum.x[i] * SUM(2) + added.x[i];
    wmma::store_matrix_sync(element_wise, added, by_rows ? columns : rows, layout);
}

extern "C" __global__ void tile(const Stored *a, const Stored *a_by_columns, const Stored *b, const Stored *b_by_columns,
                                const SUM *c, SUM *d, SUM *element_wise)
{
    const int size = 32 * 2 * N;
    product<wmma::row_major, wmma::row_major>(a, b, c, d, element_wise, wmma::mem_row_major);
    product<wmma::col_major, wmma::col_major>(a_by_columns, b_by_columns, c, d + size, element_wise + size,
                                              wmma::mem_col_major);
}
