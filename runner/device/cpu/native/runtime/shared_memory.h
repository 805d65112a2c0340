// Dynamic shared memory of a block.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace simt {

struct RunningBlock;

// Fresh shared memory is garbage on a GPU. Here it is this garbage, so that what an earlier block left there cannot
// hide that a kernel forgot to initialise it.
constexpr int garbage = 0xCB;

// Zones of the checked device, which sees each access: nobody fills or looks at them. See zones.py.
constexpr uint64_t wide_zone = 48 << 10;

// Reports a write between static shared variables. `file` and `line` are of the barrier at which the threads are; null
// at the end of a block.
void check_zones(const RunningBlock* block, const char* file, int line);

// Ends at a guard, as near as an alignment of 16 bytes lets it, so that an access past the end faults at its line.
class DynamicSharedMemory {
public:
    static constexpr size_t capacity = 256 * 1024;
    static constexpr size_t guard = 64 * 1024 * 1024;
    static constexpr size_t alignment = 16;

    DynamicSharedMemory() = default;
    ~DynamicSharedMemory();
    DynamicSharedMemory(const DynamicSharedMemory&) = delete;
    DynamicSharedMemory& operator=(const DynamicSharedMemory&) = delete;

    // Room for so many bytes; what was there before is void.
    unsigned char* provide(size_t bytes);

    // Bytes between its end and the inaccessible page.
    static constexpr size_t slack(size_t bytes) { return (alignment - bytes % alignment) % alignment; }

    unsigned char* begin() const { return begin_; }
    bool guards(uintptr_t address) const;

private:
    unsigned char* memory_ = nullptr;
    unsigned char* begin_ = nullptr;
};

}  // namespace simt
