#include "shadow.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

namespace simt::checked {

void Cell::lock() {
    constexpr uint8_t locked = 0x80;
    while (__atomic_fetch_or(&slot[2].flags, locked, __ATOMIC_ACQUIRE) & locked) {
    }
}
void Cell::unlock() { __atomic_fetch_and(&slot[2].flags, uint8_t(0x7f), __ATOMIC_RELEASE); }

Shadow::Shadow(uintptr_t begin, uint64_t bytes) : first_(begin / word_bytes), bytes_(bytes) {
    const uint64_t words = bytes ? (begin + bytes - 1) / word_bytes - first_ + 1 : 1;
    size_ = words * sizeof(Cell);
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    void* const memory = mmap(nullptr, size_, PROT_READ | PROT_WRITE, flags, -1, 0);
    if (memory == MAP_FAILED) {
        perror("checked CPU device: no memory for what is remembered of each access");
        abort();
    }
    cells_ = static_cast<Cell*>(memory);
}

Shadow::~Shadow() { munmap(cells_, size_); }

void Shadow::clear(uintptr_t begin, uintptr_t end) {
    if (begin < end) memset(static_cast<void*>(&cell(begin)), 0, ((end - 1) / word_bytes - begin / word_bytes + 1) * sizeof(Cell));
}

}  // namespace simt::checked
