// The checked launch: its arrays and its observers.
#pragma once

#include <vector>

#include "access.h"

// A function that instrumented code calls, and the address that it returns to.
#define SIMT_HOOK extern "C" __attribute__((visibility("default")))
#define SIMT_CALLER __builtin_return_address(0)

namespace simt::checked {

// Kinds of findings that are no races.
enum class Fault : uint8_t { outside, read_only, misaligned };

class Monitor {
public:
    explicit Monitor(const LaunchRequest& request);

    const CheckedRequest& request() const { return *request_.checked; }
    const LaunchRequest& launch() const { return request_; }

    // The array in global memory that an address belongs to, or in whose guards it lies; null if there is none.
    const Array* find(uintptr_t address) const;
    const std::vector<Array>& arrays() const { return arrays_; }

    std::vector<std::unique_ptr<BlockObserver>> watch(RunningBlock& block) const;

    // The access is not allowed: ends the launch.
    [[noreturn]] void stop(Worker* worker, Fault fault, const Access& access);

    // Ends the launch with a line for the report.
    [[noreturn]] void end(Worker* worker, const char* line);

    std::string report() const;

private:
    const LaunchRequest& request_;
    std::vector<Array> arrays_;  // in global memory, by address
    std::vector<std::unique_ptr<Observer>> observers_;
    std::string end_;  // guarded by the launch's mutex
};

// The shared arrays of the block that a RunningBlock runs, and who watches it.
struct BlockWatch {
    Monitor* monitor;
    uint32_t serial = 0;
    std::vector<Array> shared;  // static ones by address, then the dynamic one if there is any
    uintptr_t static_begin = 0, static_end = 0;
    const Array* last = nullptr;  // that was accessed
    AtomicScope scopes[max_threads] = {};  // of the atomic function that each thread is in; others may run meanwhile
    const Lane* reader = nullptr;  // of the last volatile or atomic access, and what it accessed
    const volatile void* read = nullptr;
    bool is_off = false;          // the runtime looks at the kernel's memory itself
    std::vector<std::unique_ptr<BlockObserver>> observers;

    BlockWatch(Monitor* monitor_, RunningBlock& block);
    const Array* find(uintptr_t address, const RunningBlock& block);
};

void access(uintptr_t address, uint64_t bytes, Access& made);

// Whether the launch that runs counts what branches cost.
extern bool watches_branches;

// A launch that ended early may have ended in an atomic operation.
void reset_turns();

}  // namespace simt::checked
