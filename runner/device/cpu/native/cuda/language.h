// Qualifiers and built-in variables.
#pragma once

#define __CUDACC__ 1
#define __CUDA_ARCH__ 900
// The toolkit whose headers these resemble: the last one with cub::Max, and the first one with __nv_atomic_load.
#define CUDART_VERSION 12080
#define CUDA_VERSION 12080
#define __CUDACC_VER_MAJOR__ 12
#define __CUDACC_VER_MINOR__ 8
#define __CUDACC_VER_BUILD__ 0
#define __CUDA_SIMT_HOST__ 1  // ours: a kernel may test whether it is compiled for the CPU device

#ifdef __clang__  // a file's other kernels are not compiled; g++ has -fwhole-program, and minds `inline inline`
#define __global__ inline
#else
#define __global__
#endif
#define __device__
#define __host__
#define __managed__
#define __grid_constant__
#define __constant__

// At block scope `thread_local` implies `static`: one copy an OS thread, which is one copy a running block. Aligned as on
// a GPU, where a `float` array can be read by `float4`.
#define __shared__ thread_local __attribute__((aligned(16)))

#define __forceinline__ inline __attribute__((always_inline))
#define __align__(bytes) __attribute__((aligned(bytes)))
#define __launch_bounds__(...)
#define __maxnreg__(...)
#define __cluster_dims__(...)

#ifdef SIMT_CHECKED
#define SIMT_VALUE(TYPE) const TYPE  // a reference would be read in the kernel
#else
#define SIMT_VALUE(TYPE) const TYPE&
#endif

namespace simt {

SIMT_UNSEEN SIMT_VALUE(uint3) thread_index() { return current_lane->thread_index; }
SIMT_UNSEEN SIMT_VALUE(uint3) block_index() { return current_lane->block->index; }
SIMT_UNSEEN SIMT_VALUE(dim3) block_size() { return current_lane->block->block_size; }
SIMT_UNSEEN SIMT_VALUE(dim3) grid_size() { return current_lane->block->grid_size; }

// What `extern __shared__ T name[];` is rewritten to; the rewrite cannot be a macro.
template <class T>
inline T* dynamic_shared() {
    return reinterpret_cast<T*>(current_lane->block->dynamic_shared);
}
template <class T>
inline T (&dynamic_array())[] {
    return reinterpret_cast<T(&)[]>(*dynamic_shared<T>());
}

// The array that a pointer in its place stands for. Another variable of the same name is itself.
template <class T>
inline T (&array(T*& first))[] {
    return reinterpret_cast<T(&)[]>(*first);
}
template <class T>
inline T& array(T& other) {
    return other;
}

// Stands behind the declaration of a shared variable that may be of a structure. A copy of a whole structure reads its
// padding, which nobody writes who sets one member after another: it counts as written. The first lane of each warp says
// so, as a branch may hold the declaration.
template <class T>
SIMT_UNSEEN void shared_structure(T& made) {
#if defined SIMT_CHECKED && __has_builtin(__builtin_clear_padding)
    using Element = std::remove_cv_t<std::remove_all_extents_t<T>>;
    if constexpr (std::is_class_v<Element> && std::is_trivially_copyable_v<Element> &&
                  !std::has_unique_object_representations_v<Element>) {
        const uint3 at = thread_index();
        const dim3 size = block_size();
        if ((at.x + size.x * (at.y + size.y * at.z)) % 32) return;
        alignas(Element) unsigned char members[sizeof(Element)];
        for (unsigned char& byte : members) byte = 1;
        __builtin_clear_padding(reinterpret_cast<Element*>(members));
        char* const first = const_cast<char*>(reinterpret_cast<const volatile char*>(&made));
        for (size_t i = 0; i < sizeof(T); ++i) {
            if (!members[i % sizeof(Element)]) simt_padding(first + i, 1);
        }
    }
#else
    (void)made;
#endif
}

// Outside of functions it is rewritten to a thread-local pointer. One of these objects sets it before a block runs.
struct BlockSetter;
static const BlockSetter* first_setter = nullptr;

struct BlockSetter {
    void (*set)();
    const BlockSetter* next;

    explicit BlockSetter(void (*set_)()) : set(set_), next(first_setter) { first_setter = this; }
};

}  // namespace simt

#define threadIdx (::simt::thread_index())
#define blockIdx (::simt::block_index())
#define blockDim (::simt::block_size())
#define gridDim (::simt::grid_size())

static constexpr int warpSize = 32;
