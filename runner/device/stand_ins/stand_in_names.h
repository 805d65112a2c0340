// In place of a missing header: the names of C++'s own headers that it usually brings.
#pragma once

#ifndef __CUDACC_RTC__
#include <algorithm>
#include <cfloat>
#include <climits>
#include <cmath>
#include <cstdint>
#include <limits>
#else  // NVRTC has no headers of the host
#define FLT_MAX 3.402823466e+38f
#define FLT_MIN 1.175494351e-38f
#define FLT_EPSILON 1.192092896e-07f
#define DBL_MAX 1.7976931348623158e+308
#define DBL_MIN 2.2250738585072014e-308
#define DBL_EPSILON 2.2204460492503131e-16
using uint = unsigned int;
using ushort = unsigned short;
#if __has_include(<cuda/std/limits>)
#include <cuda/std/climits>
#include <cuda/std/cmath>
#include <cuda/std/cstdint>
#include <cuda/std/initializer_list>
#include <cuda/std/limits>
#include <cuda/std/type_traits>
#include <cuda/std/utility>
using cuda::std::int16_t;
using cuda::std::int32_t;
using cuda::std::int64_t;
using cuda::std::int8_t;
using cuda::std::intptr_t;
using cuda::std::uint16_t;
using cuda::std::uint32_t;
using cuda::std::uint64_t;
using cuda::std::uint8_t;
using cuda::std::uintptr_t;
namespace std {
using namespace cuda::std;
template <class T>
__device__ constexpr T min(initializer_list<T> list) {
    T least = *list.begin();
    for (const T& each : list) least = each < least ? each : least;
    return least;
}
template <class T>
__device__ constexpr T max(initializer_list<T> list) {
    T greatest = *list.begin();
    for (const T& each : list) greatest = greatest < each ? each : greatest;
    return greatest;
}
}  // namespace std
#endif
namespace std {
template <class T>
__device__ constexpr const T& min(const T& a, const T& b) {
    return b < a ? b : a;
}
template <class T>
__device__ constexpr const T& max(const T& a, const T& b) {
    return a < b ? b : a;
}
}  // namespace std
#endif
