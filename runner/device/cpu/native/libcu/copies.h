// Asynchronous copies: what cooperative groups, cuda::pipeline and cuda::barrier have in common.
#pragma once

#include "../groups/warp.h"

namespace cuda {

// A number of bytes that is known, like both addresses, to be a multiple of `alignment`.
template <size_t alignment>
struct aligned_size_t {
    static constexpr size_t align = alignment;
    size_t value;

    explicit constexpr aligned_size_t(size_t bytes) : value(bytes) {}
    constexpr operator size_t() const { return value; }
};

}  // namespace cuda

namespace simt {

template <class Given>
using ByteIfVoid = std::conditional_t<std::is_void<Given>::value, char, Given>;

template <class Size>
constexpr size_t promised_alignment(const Size&) { return 1; }
template <size_t alignment>
constexpr size_t promised_alignment(const cuda::aligned_size_t<alignment>&) { return alignment; }

// Checks what the caller promised: both addresses and the size.
inline void require_alignment(const void* to, const void* from, size_t bytes, size_t alignment, int line,
                              const char* file) {
    if ((uintptr_t(to) | uintptr_t(from) | bytes) % alignment == 0) return;
    violation(line, file, "memcpy_async of %zu bytes: size or addresses are no multiple of the promised alignment of %zu",
              bytes, alignment);
}

// The calling thread's part of a copy by a group: about the same number of bytes for each thread.
template <class Group, class Size>
inline void copy_part(const Group& group, void* to, const void* from, const Size& size, size_t alignment,
                      const void* barrier, int line, const char* file) {
    const size_t bytes = size_t(size), promised = promised_alignment(size);
    require_alignment(to, from, promised > 1 ? bytes : 0, promised > alignment ? promised : alignment, line, file);
    const size_t share = ((bytes + group.size() - 1) / group.size() + 15) / 16 * 16;
    const size_t begin = share * group.thread_rank();
    if (begin >= bytes) return;
    const size_t mine = bytes - begin < share ? bytes - begin : share;
    copy_later(static_cast<char*>(to) + begin, static_cast<const char*>(from) + begin, mine, 0, barrier);
}

struct SingleThread {
    static constexpr size_t size() { return 1; }
    static constexpr size_t thread_rank() { return 0; }
};

}  // namespace simt
