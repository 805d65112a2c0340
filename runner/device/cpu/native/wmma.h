// nvcuda::wmma: matrices held by a warp, and their product.
//
// Lane l has the elements l, l + 32, l + 64, ... of the matrix, counted row by row; of `half` factors twice, as many as on
// a GPU. CUDA leaves open which they are: code may treat `x[i]` alike, but must not know its row and column.
//
// A product is summed exactly enough to be rounded once, to the accumulator's type; integers wrap or saturate. A GPU's
// tensor cores round more often, and in a way that is not documented.
#pragma once

#include "half/bf16.h"

namespace nvcuda {
namespace wmma {

struct row_major;
struct col_major;
struct matrix_a;
struct matrix_b;
struct accumulator;
namespace precision {
struct tf32;
}
enum layout_t { mem_row_major, mem_col_major };

}  // namespace wmma
}  // namespace nvcuda

namespace simt {

namespace wmma = nvcuda::wmma;

template <class T>
struct FragmentElement { using type = T; };
template <>
struct FragmentElement<wmma::precision::tf32> { using type = float; };

template <class Use, int m, int n, int k>
struct Shape { static constexpr int rows = m, columns = n; };
template <int m, int n, int k>
struct Shape<wmma::matrix_a, m, n, k> { static constexpr int rows = m, columns = k; };
template <int m, int n, int k>
struct Shape<wmma::matrix_b, m, n, k> { static constexpr int rows = k, columns = n; };

// What CUDA has, by the type of the factors.
template <class T>
constexpr bool is_shape_of(int m, int n, int k) {
    if (std::is_same<T, double>::value) return m == 8 && n == 8 && k == 4;
    if (std::is_same<T, wmma::precision::tf32>::value) return m == 16 && n == 16 && k == 8;
    return k == 16 && ((m == 16 && n == 16) || (m == 32 && n == 8) || (m == 8 && n == 32));
}
template <class Use, class T>
constexpr bool is_fragment(int m, int n, int k) {
    if (!std::is_same<Use, wmma::accumulator>::value) {
        return is_one_of<T, __half, __nv_bfloat16, signed char, unsigned char, double, wmma::precision::tf32> &&
               is_shape_of<T>(m, n, k);
    }
    return (is_one_of<T, __half, float, int> && is_shape_of<__half>(m, n, k)) ||
           (is_one_of<T, float> && is_shape_of<wmma::precision::tf32>(m, n, k)) ||
           (is_one_of<T, double> && is_shape_of<double>(m, n, k));
}

}  // namespace simt

namespace nvcuda {
namespace wmma {

template <class Use, int m, int n, int k, class T, class Layout = void>
class fragment {
    static_assert(simt::is_fragment<Use, T>(m, n, k),
                  "a fragment has 16x16x16, 32x8x16 or 8x32x16 elements of half, __nv_bfloat16, signed char or unsigned "
                  "char, 16x16x8 of precision::tf32, or 8x8x4 of double; int4 and single bits need a GPU (gpu_only)");
    static_assert(std::is_same<Use, accumulator>::value == std::is_void<Layout>::value,
                  "a factor's fragment is row_major or col_major, an accumulator's neither");
    static constexpr bool is_half_factor = std::is_same<T, __half>::value && !std::is_void<Layout>::value;

public:
    using element_type = T;
    using storage_element_type = typename simt::FragmentElement<T>::type;
    static constexpr int simt_rows = simt::Shape<Use, m, n, k>::rows;
    static constexpr int simt_columns = simt::Shape<Use, m, n, k>::columns;
    static constexpr int num_elements = is_half_factor ? 16 : simt_rows * simt_columns / 32;
    static constexpr int num_storage_elements = num_elements;

    storage_element_type x[num_elements];
};

}  // namespace wmma
}  // namespace nvcuda

namespace simt {

// Calls `visit(element, row, column)` for each element that this lane has. CUDA does not say which lane has which. A kernel
// often reads a stored matrix with lane i at elements i, i + 32, ... If lane i also stored these, a missing __syncwarp would
// not show, so another lane stores them here.
template <class Fragment, class Visit>
inline void for_each_element(Fragment& fragment, Visit visit) {
    constexpr int columns = Fragment::simt_columns, count = Fragment::simt_rows * columns;
    for (int i = 0; i < Fragment::num_elements; ++i) {
        const int at = (i * 32 + (int(current_lane->number) * 5 + 1) % 32) % count;
        visit(fragment.x[i], at / columns, at % columns);
    }
}

// All lanes of the warp must make the call. That orders no accesses to memory: so loads come before the lanes meet, and
// stores after, and a missing __syncwarp or __syncthreads stays visible.
inline void whole_warp(int line, const char* file) { vote(Operation::syncwarp, all_lanes, 0, line, file); }

template <class T>
inline void check_matrix(const char* name, const T* address, unsigned stride, int line, const char* file) {
    if (stride * sizeof(T) % 16) {
        violation(line, file, "%s: the leading dimension %u is not a multiple of %u, which are 16 bytes", name, stride,
                  unsigned(16 / sizeof(T)));
    }
    if (reinterpret_cast<uintptr_t>(address) % 16) {
        violation(line, file, "%s: the matrix does not begin at a multiple of 16 bytes (CUDA asks for 32)", name);
    }
}

template <class Fragment, class T>
inline void load_matrix(Fragment& to, const T* from, unsigned stride, bool by_rows, int line, const char* file) {
    check_matrix("load_matrix_sync", from, stride, line, file);
    for_each_element(to, [&](auto& element, int row, int column) {
        element = by_rows ? from[size_t(row) * stride + column] : from[size_t(column) * stride + row];
    });
    whole_warp(line, file);
}

// The 19 bits of a float that a factor of type tf32 has.
inline double factor_of(float x) { return bit_cast<float>(bit_cast<uint32_t>(x) & 0xffffe000u); }
inline double factor_of(double x) { return x; }
inline double factor_of(__half x) { return value_of(x); }
inline double factor_of(__nv_bfloat16 x) { return value_of(x); }
inline int factor_of(signed char x) { return x; }
inline int factor_of(unsigned char x) { return x; }

// One element of a product, added to `sum`.
template <int k>
inline double dot(const double (&row)[k], const double (&column)[k], double sum, bool) {
    double products = 0;
    for (int i = 0; i < k; ++i) products += row[i] * column[i];
    return products + sum;
}
inline double dot(const double (&row)[4], const double (&column)[4], double sum, bool) {  // factors of type double
    for (int i = 0; i < 4; ++i) sum = fma(row[i], column[i], sum);
    return sum;
}
template <int k>
inline int dot(const int (&row)[k], const int (&column)[k], int sum, bool saturates) {
    long long total = sum;
    for (int i = 0; i < k; ++i) total += row[i] * column[i];
    if (saturates) total = total > INT_MAX ? INT_MAX : total < INT_MIN ? INT_MIN : total;
    return int(total);
}

}  // namespace simt

namespace nvcuda {
namespace wmma {

// To 10 bits of fraction; a tie goes away from zero.
inline float __float_to_tf32(float x) {
    const uint32_t bits = simt::bit_cast<uint32_t>(x);
    if ((bits & 0x7f800000u) == 0x7f800000u) return x != x ? simt::bit_cast<float>(0x7fffffffu) : x;
    return simt::bit_cast<float>((bits + 0x1000u) & 0xffffe000u);
}

template <class Use, int m, int n, int k, class T, class Layout, class Value>
inline void fill_fragment(fragment<Use, m, n, k, T, Layout>& to, const Value& value) {
    for (auto& element : to.x) element = typename fragment<Use, m, n, k, T, Layout>::storage_element_type(value);
}

template <class Use, int m, int n, int k, class T, class Layout>
inline void load_matrix_sync(fragment<Use, m, n, k, T, Layout>& to,
                             const typename simt::FragmentElement<T>::type* from, unsigned stride, SIMT_CALLED_FROM) {
    static_assert(!std::is_void<Layout>::value, "an accumulator is loaded with a layout: mem_row_major or mem_col_major");
    simt::load_matrix(to, from, stride, std::is_same<Layout, row_major>::value, line, file);
}
template <int m, int n, int k, class T>
inline void load_matrix_sync(fragment<accumulator, m, n, k, T>& to, const T* from, unsigned stride, layout_t layout,
                             SIMT_CALLED_FROM) {
    simt::load_matrix(to, from, stride, layout == mem_row_major, line, file);
}

template <int m, int n, int k, class T>
inline void store_matrix_sync(T* to, const fragment<accumulator, m, n, k, T>& from, unsigned stride, layout_t layout,
                              SIMT_CALLED_FROM) {
    simt::check_matrix("store_matrix_sync", to, stride, line, file);
    simt::whole_warp(line, file);
    simt::for_each_element(from, [&](const T& element, int row, int column) {
        to[layout == mem_row_major ? size_t(row) * stride + column : size_t(column) * stride + row] = element;
    });
}

// d = a * b + c
template <int m, int n, int k, class D, class A, class LayoutA, class B, class LayoutB, class C>
inline void mma_sync(fragment<accumulator, m, n, k, D>& d, const fragment<matrix_a, m, n, k, A, LayoutA>& a,
                     const fragment<matrix_b, m, n, k, B, LayoutB>& b, const fragment<accumulator, m, n, k, C>& c,
                     bool saturates = false, SIMT_CALLED_FROM) {
    static_assert(std::is_same<A, B>::value, "both factors of mma_sync have the same type");
    constexpr bool is_integer = std::is_integral<A>::value;
    static_assert(is_integer == std::is_same<C, int>::value && is_integer == std::is_same<D, int>::value,
                  "mma_sync adds products of integers to int, and of no other type");
    static_assert(!std::is_same<A, __nv_bfloat16>::value || (std::is_same<C, float>::value && std::is_same<D, float>::value),
                  "mma_sync adds products of __nv_bfloat16 to float");
    using Number = std::conditional_t<is_integer, int, double>;
    struct Factors {
        Number rows[m][k], columns[n][k];
    };
    // Each lane writes what it has of the factors to the first lane's stack, and reads what it needs.
    Factors own;
    Factors& all = *reinterpret_cast<Factors*>(simt::shuffle<simt::Operation::shfl_idx>(
        "mma_sync", simt::all_lanes, reinterpret_cast<uintptr_t>(&own), 0, 32, line, file));
    simt::for_each_element(a, [&](auto x, int row, int i) { all.rows[row][i] = simt::factor_of(x); });
    simt::for_each_element(b, [&](auto x, int i, int column) { all.columns[column][i] = simt::factor_of(x); });
    simt::whole_warp(line, file);
    D result[fragment<accumulator, m, n, k, D>::num_elements];
    int at = 0;
    simt::for_each_element(c, [&](const C& x, int row, int column) {
        result[at++] = D(simt::dot(all.rows[row], all.columns[column], Number(x), saturates));
    });
    simt::whole_warp(line, file);  // as long as the first lane's stack must stay as it is
    for (int i = 0; i < at; ++i) d.x[i] = result[i];
}

}  // namespace wmma
}  // namespace nvcuda
