// What the checked device sees of a kernel, and who looks at it.
//
// The kernel is compiled with -fsanitize=thread, so that the compiler calls a function of hooks.cpp before each access.
// A hook finds out which array the address belongs to, and passes an Access to all observers. To add an observer:
// implement the two classes below in a file of this folder, and add the observer to the list in monitor.cpp.
#pragma once

#include <memory>
#include <string>

#include "../runtime/worker.h"

namespace simt::checked {

enum class Space : uint8_t { global, shared, variable };  // the last: of `__device__` and `__constant__` variables

// In whose sight an atomic access or a fence is one.
enum class Scope : uint8_t { none, block, device };

struct Array {
    Space space;
    bool read_only;    // no kernel writes it
    bool has_content;  // before the launch
    bool constant;     // a `__constant__` variable
    uint32_t number;   // of the array, in the order of the request; dynamic shared memory comes last
    uint32_t element;  // bytes
    uintptr_t begin;
    uint64_t bytes;
    uintptr_t origin;        // an address that is a multiple of 256 on a GPU: the begin of the array's memory
    uintptr_t guard_begin;   // addresses from here to `guard_end` mean this array, but are outside
    uintptr_t guard_end;

    bool holds(uintptr_t address) const { return address - begin < bytes; }
};

// One access of one lane. An atomic addition reads and writes at once.
struct Access {
    const Array* array;
    uint64_t offset;   // of the first byte, from the array's begin
    uintptr_t address;
    uint32_t bytes;
    uint32_t code;     // the instruction: bytes from LaunchRequest::code_begin
    const Lane* lane;
    bool reads;
    bool writes;
    bool is_volatile;
    bool is_aligned;  // by its type: the address must be a multiple of the bytes
    Scope atomic;      // none for a plain access
    bool changes;      // an atomic read-modify-write; a compare-and-swap that fails is one that writes nothing
    bool compares;     // an atomic compare-and-swap
    bool acquires;     // memory orders of an atomic access
    bool releases;
};

struct Quick;

// What happens in one running block, in order. All calls come from the one OS thread that runs the block.
class BlockObserver {
public:
    virtual ~BlockObserver() = default;
    virtual void begins(uint32_t serial) = 0;  // another block of the grid: blocks take turns in a RunningBlock
    virtual void ends() {}
    virtual void access(const Access& access) = 0;
    virtual void comparison(const Lane&, uint32_t) {}       // at this place in the code; a branch may follow
    virtual void step(const Lane&, uint32_t) {}             // the lane has come to a basic block that begins there
    virtual void barrier() {}                               // all live threads of the block have met
    virtual void warp_sync(const Warp&, uint32_t) {}        // these lanes have met in __syncwarp or a group's sync
    virtual void warp_collective(const Warp&, uint32_t) {}  // ... in a shuffle, vote, match or reduction
    virtual void team_sync(unsigned, unsigned) {}           // threads first to first + count of the block have met
    virtual void arrives(uint32_t, const Warp&, uint32_t) {}  // these lanes, at a named barrier
    virtual void completes(uint32_t, const uint32_t*) {}      // a named barrier, for which these lanes of each warp waited
    virtual void grid_barrier() {}                          // all blocks have met; only the last one is told
    virtual void fence(const Lane&, Scope) {}
    virtual Quick* quick() { return nullptr; }  // if there is a short way for plain accesses (quick.h)
    // The short way may go to an array; an instruction that accesses `bytes` bytes at once has accessed it.
    virtual void go_quickly(const Array&, uint32_t, uint64_t) {}
    virtual void async_write(const Array&, uint64_t, uint64_t, bool) {}  // bytes not written yet (false), written (true)
};

// One for each launch.
class Observer {
public:
    virtual ~Observer() = default;
    virtual std::unique_ptr<BlockObserver> watch(RunningBlock& block) = 0;
    // Appends what it found, one line each, of columns that tabs separate; the first column says whose line it is.
    virtual void report(std::string& out) = 0;
};

}  // namespace simt::checked
