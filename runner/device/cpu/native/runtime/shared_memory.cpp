#include "shared_memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

namespace simt {

DynamicSharedMemory::~DynamicSharedMemory() {
    if (memory_) munmap(memory_, guard + capacity + guard);
}

unsigned char* DynamicSharedMemory::provide(size_t bytes) {
    if (!memory_) {
        const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
        void* const memory = mmap(nullptr, guard + capacity + guard, PROT_NONE, flags, -1, 0);
        if (memory == MAP_FAILED) {
            perror("CPU device: no memory for shared memory");
            abort();
        }
        memory_ = static_cast<unsigned char*>(memory);
        mprotect(memory_ + guard, capacity, PROT_READ | PROT_WRITE);
    }
    begin_ = memory_ + guard + capacity - (bytes + alignment - 1) / alignment * alignment;
    return begin_;
}

bool DynamicSharedMemory::guards(uintptr_t address) const {
    const uintptr_t first = reinterpret_cast<uintptr_t>(memory_);
    return memory_ && address >= first && address < first + guard + capacity + guard;
}

}  // namespace simt
