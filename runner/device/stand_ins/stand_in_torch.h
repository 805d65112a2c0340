// In place of a missing header of PyTorch: the types of its kernels' parameters, and what its kernels call most.
#pragma once

#include "stand_in_halves.h"

#define C10_HOST_DEVICE __host__ __device__
#define C10_DEVICE __device__
#define C10_HOST __host__
#define C10_WARP_SIZE 32
#define C10_LAUNCH_BOUNDS_1(threads) __launch_bounds__(threads)
#define C10_LAUNCH_BOUNDS_2(threads, blocks) __launch_bounds__(threads, blocks)
#define CUDA_KERNEL_ASSERT(condition) ((condition) ? (void)0 : __trap())
#define CUDA_KERNEL_LOOP_TYPE(i, n, type)                                                           \
    for (type i = (type)blockIdx.x * blockDim.x + threadIdx.x; i < (n); i += (type)blockDim.x * gridDim.x)
#define CUDA_KERNEL_LOOP(i, n) CUDA_KERNEL_LOOP_TYPE(i, n, long)

namespace c10 {

// A half type that is computed in float: each result is rounded. It is converted from and to CUDA's own type.
#define STAND_IN_HALF(NAME, NATIVE, ROUNDED, WIDENED)                                               \
    struct alignas(2) NAME {                                                                        \
        using Native = NATIVE;                                                                      \
        unsigned short x;                                                                           \
        NAME() = default;                                                                           \
        C10_HOST_DEVICE NAME(NATIVE value) { memcpy(&x, &value, 2); }                               \
        C10_HOST_DEVICE NAME(float value) : NAME(ROUNDED(value)) {}                                 \
        C10_HOST_DEVICE operator NATIVE() const {                                                   \
            NATIVE value;                                                                           \
            memcpy(&value, &x, 2);                                                                  \
            return value;                                                                           \
        }                                                                                           \
        C10_HOST_DEVICE operator float() const { return WIDENED(NATIVE(*this)); }                   \
    };                                                                                              \
    STAND_IN_OPERATOR(NAME, +)                                                                      \
    STAND_IN_OPERATOR(NAME, -)                                                                      \
    STAND_IN_OPERATOR(NAME, *)                                                                      \
    STAND_IN_OPERATOR(NAME, /)                                                                      \
    STAND_IN_COMPARISON(NAME, <)                                                                    \
    STAND_IN_COMPARISON(NAME, >)                                                                    \
    STAND_IN_COMPARISON(NAME, <=)                                                                   \
    STAND_IN_COMPARISON(NAME, >=)                                                                   \
    STAND_IN_COMPARISON(NAME, ==)                                                                   \
    STAND_IN_COMPARISON(NAME, !=)                                                                   \
    C10_HOST_DEVICE inline NAME operator-(const NAME& a) { return NAME(-float(a)); }

// With another number: a float or a double stays one, an integer becomes a half.
#define STAND_IN_OPERATOR(NAME, OP)                                                                 \
    C10_HOST_DEVICE inline NAME operator OP(const NAME& a, const NAME& b) { return NAME(float(a) OP float(b)); } \
    C10_HOST_DEVICE inline NAME& operator OP##=(NAME& a, const NAME& b) { return a = a OP b; }      \
    C10_HOST_DEVICE inline float& operator OP##=(float& a, const NAME& b) { return a = a OP float(b); } \
    STAND_IN_PAIR(NAME, float, OP, float, float)                                                    \
    STAND_IN_PAIR(NAME, double, OP, double, double)                                                 \
    STAND_IN_PAIR(NAME, int, OP, NAME, float)                                                       \
    STAND_IN_PAIR(NAME, long, OP, NAME, float)
#define STAND_IN_COMPARISON(NAME, OP)                                                               \
    C10_HOST_DEVICE inline bool operator OP(const NAME& a, const NAME& b) { return float(a) OP float(b); } \
    STAND_IN_PAIR(NAME, float, OP, bool, float)                                                     \
    STAND_IN_PAIR(NAME, double, OP, bool, double)                                                   \
    STAND_IN_PAIR(NAME, int, OP, bool, float)                                                       \
    STAND_IN_PAIR(NAME, long, OP, bool, float)
#define STAND_IN_PAIR(NAME, OTHER, OP, RESULT, COMPUTED)                                            \
    C10_HOST_DEVICE inline RESULT operator OP(const NAME& a, OTHER b) {                             \
        return RESULT(COMPUTED(float(a)) OP COMPUTED(b));                                           \
    }                                                                                               \
    C10_HOST_DEVICE inline RESULT operator OP(OTHER a, const NAME& b) {                             \
        return RESULT(COMPUTED(a) OP COMPUTED(float(b)));                                           \
    }

STAND_IN_HALF(Half, ::__half, __float2half_rn, __half2float)
STAND_IN_HALF(BFloat16, ::__nv_bfloat16, __float2bfloat16_rn, __bfloat162float)
#undef STAND_IN_HALF
#undef STAND_IN_OPERATOR
#undef STAND_IN_COMPARISON
#undef STAND_IN_PAIR

}  // namespace c10

// A template, as some kernels declare their own.
template <class Half, class Native = typename Half::Native>
__device__ inline Half atomicAdd(Half* address, Half value) {
    return atomicAdd(reinterpret_cast<Native*>(address), Native(value));
}
template <class T>
__device__ inline T gpuAtomicAdd(T* address, T value) {
    return atomicAdd(address, value);
}
template <class T>
__device__ inline void gpuAtomicAddNoReturn(T* address, T value) {
    atomicAdd(address, value);
}

#define STAND_IN_SHUFFLE(NAME, SHUFFLE, ARGUMENT)                                                   \
    template <class T>                                                                              \
    __device__ inline T NAME(T value, ARGUMENT, int width = 32, unsigned mask = 0xffffffff) {       \
        return SHUFFLE(mask, value, other, width);                                                  \
    }
STAND_IN_SHUFFLE(WARP_SHFL, __shfl_sync, int other)
STAND_IN_SHUFFLE(WARP_SHFL_XOR, __shfl_xor_sync, int other)
STAND_IN_SHUFFLE(WARP_SHFL_UP, __shfl_up_sync, unsigned other)
STAND_IN_SHUFFLE(WARP_SHFL_DOWN, __shfl_down_sync, unsigned other)
#undef STAND_IN_SHUFFLE

namespace at {

using c10::BFloat16;
using c10::Half;

template <class T>
struct DefaultPtrTraits {
    using PtrType = T*;
};
template <class T>
struct RestrictPtrTraits {
    using PtrType = T* __restrict__;
};

// A view of an array; each index makes one of a dimension less, the last one gives the element.
template <class T, int N, template <class> class Traits = DefaultPtrTraits, class Index = long>
class TensorAccessor {
public:
    using PtrType = typename Traits<T>::PtrType;
    C10_HOST_DEVICE TensorAccessor(PtrType data, const Index* sizes, const Index* strides)
        : data_(data), sizes_(sizes), strides_(strides) {}
    C10_HOST_DEVICE decltype(auto) operator[](Index i) const {
        if constexpr (N == 1) {
            return (data_[strides_[0] * i]);
        } else {
            return TensorAccessor<T, N - 1, Traits, Index>(data_ + strides_[0] * i, sizes_ + 1, strides_ + 1);
        }
    }
    C10_HOST_DEVICE Index size(Index i) const { return sizes_[i]; }
    C10_HOST_DEVICE Index stride(Index i) const { return strides_[i]; }
    C10_HOST_DEVICE PtrType data() const { return data_; }

private:
    PtrType data_;
    const Index* sizes_;
    const Index* strides_;
};

// A parameter of a kernel, passed by value: the pointer, the sizes, the strides.
template <class T, int N, template <class> class Traits = DefaultPtrTraits, class Index = long>
class GenericPackedTensorAccessor {
public:
    using PtrType = typename Traits<T>::PtrType;
    C10_HOST_DEVICE decltype(auto) operator[](Index i) const {
        return TensorAccessor<T, N, Traits, Index>(data_, sizes_, strides_)[i];
    }
    C10_HOST_DEVICE Index size(Index i) const { return sizes_[i]; }
    C10_HOST_DEVICE Index stride(Index i) const { return strides_[i]; }
    C10_HOST_DEVICE PtrType data() const { return data_; }

private:
    PtrType data_;
    Index sizes_[N];
    Index strides_[N];
};
template <class T, int N, template <class> class Traits = DefaultPtrTraits>
using PackedTensorAccessor32 = GenericPackedTensorAccessor<T, N, Traits, int>;
template <class T, int N, template <class> class Traits = DefaultPtrTraits>
using PackedTensorAccessor64 = GenericPackedTensorAccessor<T, N, Traits, long>;

// The type in which a kernel of PyTorch computes.
template <class T>
struct OpMathType {
    using type = T;
};
template <>
struct OpMathType<Half> {
    using type = float;
};
template <>
struct OpMathType<BFloat16> {
    using type = float;
};
template <class T>
using opmath_type = typename OpMathType<T>::type;
template <class T, bool is_cuda>
using acc_type = opmath_type<T>;

// An array of up to 25 dimensions that a kernel gets by value, and the place of its nth element.
namespace cuda::detail {
constexpr int MAX_TENSORINFO_DIMS = 25;
template <class T, class Index>
struct TensorInfo {
    T* data;
    Index sizes[MAX_TENSORINFO_DIMS];
    Index strides[MAX_TENSORINFO_DIMS];
    int dims;
};
template <class T, class Index, int Dims>
struct IndexToOffset {
    C10_HOST_DEVICE static Index get(Index number, const TensorInfo<T, Index>& info) {
        Index offset = 0;
        for (int axis = (Dims > 0 ? Dims : info.dims) - 1; axis > 0; --axis) {
            offset += number % info.sizes[axis] * info.strides[axis];
            number /= info.sizes[axis];
        }
        return offset + number * info.strides[0];
    }
};
}  // namespace cuda::detail

}  // namespace at

namespace torch {
using namespace at;
}
