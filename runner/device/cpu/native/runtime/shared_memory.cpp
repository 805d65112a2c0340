#include "shared_memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "diagnostics.h"

namespace simt {

namespace {

// The first byte of a zone that is no longer garbage; `size` if there is none.
size_t first_changed(const unsigned char* begin, size_t size) {
    // Each byte is compared with its left neighbour, at the speed of memcmp.
    if (size == 0 || (begin[0] == garbage && memcmp(begin, begin + 1, size - 1) == 0)) return size;
    size_t at = 0;
    while (begin[at] == garbage) ++at;
    return at;
}

void add_where_found(Text& text, const RunningBlock* block, const char* file) {
    text.add(file ? " (found at this barrier)" : " (found at the end of the block, so the line is not known)");
    text.add_block(*block);
}

[[noreturn]] void report_overrun(const RunningBlock* block, const Zone& zone, size_t at, const char* file, int line) {
    const bool beyond = zone.before && (!zone.behind || at < zone.size - at);
    const long long byte = beyond ? (long long)(zone.before_size + at) : (long long)at - (long long)zone.size;
    char message[512];
    Text text(message, sizeof message);
    text.add_position(file, line).add("out-of-bounds write of the shared variable '%s': byte %lld of %llu",
                                      beyond ? zone.before : zone.behind, byte,
                                      (unsigned long long)(beyond ? zone.before_size : zone.behind_size));
    add_where_found(text, block, file);
    stop(block->worker, message);
}

[[noreturn]] void report_dynamic_overrun(const RunningBlock* block, size_t byte, const char* file, int line) {
    char message[512];
    Text text(message, sizeof message);
    text.add_position(file, line).add("out-of-bounds write of dynamic shared memory: byte %llu of %llu",
                                      (unsigned long long)byte,
                                      (unsigned long long)block->worker->launch->request.dynamic_shared);
    add_where_found(text, block, file);
    stop(block->worker, message);
}

}  // namespace

void check_zones(const RunningBlock* block, const char* file, int line) {
    const Worker* const worker = block->worker;
    const LaunchRequest& request = worker->launch->request;
    for (uint64_t i = 0; i < request.zone_count; ++i) {
        const Zone& zone = request.zones[i];
        if (zone.size >= wide_zone) continue;
        const size_t at = first_changed(worker->static_shared + zone.begin, zone.size);
        if (__builtin_expect(at < zone.size, 0)) report_overrun(block, zone, at, file, line);
    }
    const size_t bytes = request.dynamic_shared, slack = DynamicSharedMemory::slack(bytes);
    const size_t at = first_changed(block->dynamic_shared + bytes, slack);
    if (__builtin_expect(at < slack, 0)) report_dynamic_overrun(block, bytes + at, file, line);
}

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
    begin_ = memory_ + guard + capacity - (bytes + slack(bytes));
    return begin_;
}

bool DynamicSharedMemory::guards(uintptr_t address) const {
    const uintptr_t first = reinterpret_cast<uintptr_t>(memory_);
    return memory_ && address >= first && address < first + guard + capacity + guard;
}

}  // namespace simt
