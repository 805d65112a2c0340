// Plain reads that are only the first look of a loop of compare-and-swaps, as the programming guide writes an atomicAdd of
// doubles: `old = *address; do old = atomicCAS(address, assumed = old, ...)`. The swap proves each value that was read.
#pragma once

#include <stdint.h>

#include <atomic>
#include <memory>

#include "access.h"

namespace simt::checked {

// Of a launch, by instruction: whether each value read was proved by the same thread's next access.
class FirstLooks {
public:
    void note(uint32_t code, bool is_proved) {
        std::atomic<uint8_t>& at = seen_[code % count_];
        const uint8_t bit = is_proved ? proved_ : unproved_;
        if (!(at.load(std::memory_order_relaxed) & bit)) at.fetch_or(bit, std::memory_order_relaxed);
    }
    std::atomic<bool> matter{false};  // whether there was a compare-and-swap

    bool are_all_proved(uint32_t code) const { return seen_[code % count_].load(std::memory_order_relaxed) == proved_; }

private:
    static constexpr size_t count_ = 1 << 16;  // instructions that share a place are told apart by none: both race
    static constexpr uint8_t proved_ = 1, unproved_ = 2;
    std::unique_ptr<std::atomic<uint8_t>[]> seen_{new std::atomic<uint8_t>[count_]()};
};

// The last access of a thread, if it was a plain read.
struct Look {
    uintptr_t address = 0;  // 0: it was not
    uint32_t code = 0;
};

}  // namespace simt::checked
