// What each instruction of a kernel costs, from the addresses that the lanes of a warp really used.
//
// The k-th time that lanes of a warp execute an instruction in a block makes one request. Lanes that leave a loop early
// take part in fewer of them. Lanes that take turns in a loop (some in its even rounds, some in its odd ones) are taken
// together, though hardware would not.
//
// Shared memory has 32 banks; successive 4-byte words lie in successive banks (CUDA C++ Programming Guide, "Shared
// Memory" under "Compute Capability 5.x", to which later ones refer). Lanes that access the same word are served
// together. Different words of a bank are served one after the other, each in a pass that Nsight Compute calls a
// wavefront. 8 bytes a lane: each half of the warp is served by itself, unless every lane accesses the same element as
// the next lane, or as the next but one; then the whole warp is served at once. The guide does not say this; it was
// counted on an H200. 16 bytes a lane: each quarter is served by itself.
//
// Global memory moves in aligned sectors of 32 bytes: a request moves each sector that holds one of its addresses (the
// same guide, "Device Memory Accesses"; Nsight Compute, "Memory Tables").
//
// A branch diverges if lanes of a warp that execute it together go on at different instructions.
#pragma once

#include <map>
#include <mutex>
#include <tuple>
#include <vector>

#include "access.h"

namespace simt::checked {

enum class Traffic : uint32_t { load, store, atomic, branch };

// One request of a warp.
struct Request {
    uint32_t lanes = 0;
    uint32_t bytes = 0;  // of a lane
    uint64_t address[lanes_per_warp];
};

struct Units {
    uint64_t actual;
    uint64_t ideal;  // sectors of as many different bytes side by side; wavefronts without a bank conflict
};

Units wavefronts(const Request& request);
Units sectors(const Request& request);

// The cost of one instruction in all blocks.
struct Cost {
    uint64_t requests = 0;  // of warps
    uint64_t counted = 0;   // of these, whose lanes were looked at; the numbers below are of them alone
    uint64_t lanes = 0;
    uint64_t bytes = 0;     // that the lanes asked for
    uint64_t actual = 0;    // sectors or wavefronts; of a branch: how often it diverged
    uint64_t ideal = 0;
    Request first;          // as bytes from the array's begin; without lanes for a branch
};

using Instruction = std::tuple<uint32_t, Space, Traffic>;  // its place in the code, and what it does

class LineCosts : public Observer {
public:
    std::unique_ptr<BlockObserver> watch(RunningBlock& block) override;
    void report(std::string& out) override;
    void add(const Instruction& instruction, const Cost& cost);

private:
    std::mutex mutex_;  // blocks run on several OS threads
    std::map<Instruction, Cost> costs_;
};

}  // namespace simt::checked
