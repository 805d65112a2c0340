// Words by which threads tell others that their data is there: what a race's message names when something is missing on
// the way. Nothing here decides whether there is a race.
#pragma once

#include <stdint.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "access.h"

namespace simt::checked {

// One access to such a word, atomic or volatile.
struct Signal {
    uintptr_t address = 0;  // 0: none
    uint64_t tick = 0;      // accesses of all threads in order
    uint32_t code = 0, thread = 0, clock = 0;
    uint32_t base = 0;            // of its block, at that time
    uint32_t fenced_device = 0;   // the thread's accesses with a smaller clock are followed by a fence of the device
    uint32_t fenced_block = 0;    // ... by any fence
    uint32_t fenced_all = 0;      // accesses of all its block's threads with a smaller clock are followed by such a fence
    bool in_block = false;        // an atomic of the block's scope
    bool orders = false;          // a release, an acquire
};

// The last such accesses of one block, to different words.
class Signals {
public:
    void note(const Signal& one, bool reads, bool writes);
    void clear();

    // Another OS thread may look.
    void lock() {
        while (is_locked_.test_and_set(std::memory_order_acquire)) {
        }
    }
    void unlock() { is_locked_.clear(std::memory_order_release); }

private:
    friend class Handovers;
    static constexpr unsigned most_ = 4;

    static void put(Signal (&list)[most_], const Signal& one);

    Signal reads_[most_], writes_[most_];
    std::atomic_flag is_locked_ = ATOMIC_FLAG_INIT;
};

// What is missing between an access and a later one of another thread, if a word told the later one that it may go on.
struct Handover {
    enum Missing : uint32_t {
        barrier_before = 1,  // between the access and the write of the word, by another thread of its block
        fence_before = 2,    // between the access and the write of the word
        wider_before = 4,    // the fence there has the block's scope
        fence_behind = 8,    // between the read of the word and the later access
        wider_behind = 16,
        wider_word = 32,     // accesses to the word have the block's scope
        late = 64,           // the word is written first
    };
    uint32_t missing = 0;  // 0: no such word is known
    uint32_t write_code = 0, read_code = 0;
};

class Handovers {
public:
    // The block of this number; null if too many blocks have some.
    Signals* of_block(uint32_t number);
    uint64_t tick() { return ticks_.fetch_add(1, std::memory_order_relaxed) + 1; }

    struct Earlier {
        uint32_t block, thread, clock;
    };
    struct Later {
        uint32_t block, thread, base;
        uint32_t fenced_device, fenced_block;  // of its thread
    };
    Handover between(const Earlier& earlier, const Later& later, uintptr_t raced);

private:
    static constexpr size_t most_blocks_ = 4096;
    std::mutex mutex_;
    std::atomic<uint64_t> ticks_{0};
    std::unordered_map<uint32_t, std::unique_ptr<Signals>> blocks_;
};

}  // namespace simt::checked
