// Data races by happens-before, and reads of what nobody wrote.
#pragma once

#include <map>
#include <tuple>

#include "flags.h"
#include "handover.h"
#include "looks.h"
#include "monitor.h"
#include "order.h"
#include "shadow.h"

namespace simt::checked {

class BlockRaces;

class Races : public Observer {
public:
    explicit Races(Monitor& monitor);
    ~Races() override;
    std::unique_ptr<BlockObserver> watch(RunningBlock& block) override;
    void report(std::string& out) override;

private:
    friend class BlockRaces;

    // The later access first. Unwaited: of what an asynchronous copy is still to write.
    enum class Kind : uint8_t { write_write, read_write, write_read, unwritten, unwaited };

    // How far apart the threads of a race were; a set.
    enum Reach : uint8_t { within_warp = 1, within_block = 2, between_blocks = 4 };

    // What the threads passed last together: a barrier of the block, or a synchronization of the warp.
    struct Passed {
        const char* file = nullptr;  // null: nothing since the block began, or it is not known
        int line = 0;
    };

    // A pair of instructions, and its first occurrence.
    struct Record {
        uint64_t count = 0, same_value = 0;
        uint64_t offset = 0;
        uint32_t bytes = 0;  // of the access
        uint32_t block = 0, thread = 0, other_block = 0, other_thread = 0;
        uint8_t flags = 0, other_flags = 0;
        uint8_t reach = 0;  // of all occurrences
        Passed passed;
        Handover handover;
    };
    using Key = std::tuple<uint32_t, uint32_t, Kind, uint32_t>;  // code, other code, kind, array

    Key note(Kind kind, const Access& access, uint64_t offset, uint32_t block, uint32_t thread, uint8_t flags,
             const Slot& other, BlockRaces* races = nullptr);
    void note_same_value(const Key& key);
    // Keeps the logs of a block that has ended, to which others refer.
    void bury(std::unique_ptr<Logs> logs, std::vector<std::unique_ptr<Log>> more);

    Monitor& monitor_;
    uint32_t base_;  // number of this launch's first block: blocks of all launches of a sequence are numbered on
    bool locks_;     // several OS threads
    Logs logs_;
    Handovers handovers_;
    std::vector<uint32_t> after_grid_barrier_;  // by block: the clock with which it went on
    VolatileReads volatile_reads_;
    FirstLooks looks_;
    std::vector<BlockRaces*> blocks_;           // of a cooperative launch
    std::vector<Shadow*> shadows_;              // by the number of the array
    std::mutex mutex_;                          // guards what follows
    std::map<Key, Record> records_;
    std::vector<std::unique_ptr<Logs>> buried_;
    std::vector<std::unique_ptr<Log>> buried_logs_;
    std::atomic<bool> is_full_{false};  // so many records that the launch ends
};

}  // namespace simt::checked
