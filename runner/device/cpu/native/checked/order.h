// Which accesses happened before which others.
//
// Each thread has a clock, which moves on when the thread publishes what it did. A block has a base: every access in the
// block with a smaller clock happened before its last barrier. A thread knows of its warp what `__syncwarp` told it (a
// row of clocks). Everything else that it knows came through memory: a release adds an entry to the log of the word that
// it writes, and an acquire remembers how much of a log it has seen.
#pragma once

#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "access.h"

namespace simt::checked {

struct Log;

// The entries of a log that somebody has seen.
struct Seen {
    Log* log;
    uint32_t from, to;
    bool in_block;  // seen by an acquire in the scope of a block: only entries of its own block count
};

// Of each thread of a block: its accesses with a smaller clock.
using Clocks = std::vector<uint32_t>;

// What a thread knew when it published it.
struct Release {
    uint32_t block, thread;
    uint32_t base;                // accesses in its block with a smaller clock
    uint32_t clock;               // its own accesses with a smaller clock
    std::vector<uint32_t> lanes;  // the same for lanes of its warp; may be empty
    std::shared_ptr<const Clocks> all;  // the same for all threads of its block, if a named barrier told; may be null
    std::vector<Seen> seen;
    bool in_block = false;        // published to its own block only
};

struct Log {
    std::mutex mutex;
    bool of_shared = false;
    uint32_t start = 0;  // entries before are gone: a store that is no read-modify-write has replaced the value
    std::vector<Release> entries;
    std::unordered_map<uint32_t, std::vector<uint32_t>> of_block;
    std::vector<uint32_t> with_seen;
};

// An access that happened, as far as order is concerned.
struct Event {
    uint32_t block, thread, clock;
};

// Whether an event is among what was published in the entries that were seen. `block` is the block that asks.
bool includes(const std::vector<Seen>& seen, const Event& event, uint32_t block);

// Adds what is new.
void add(std::vector<Seen>& to, const Seen& one);
void add(std::vector<Seen>& to, const std::vector<Seen>& others);

// The logs of words in memory.
class Logs {
public:
    // Null if nothing was released to this word, unless it is to be made.
    Log* find(uintptr_t address, bool make, bool of_shared = false);
    bool empty() const { return !any_.load(std::memory_order_acquire); }
    void clear();

private:
    static constexpr size_t parts_ = 64;
    struct Part {
        std::mutex mutex;
        std::unordered_map<uintptr_t, std::unique_ptr<Log>> logs;
    };
    Part parts_of_[parts_];
    std::atomic<bool> any_{false};
};

// Appends an entry, unless the log says as much already. `replaces`: the value is a new one.
void publish(Log& log, Release&& release, bool replaces);

}  // namespace simt::checked
