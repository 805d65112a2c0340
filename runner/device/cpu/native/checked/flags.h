// Which volatile words are flags: each value read from them is at once compared with a constant, as in
// `while (ready == 0)`. Two volatile accesses are no data race (PTX ISA, "Memory Consistency Model"), and a flag alone is
// right. Data that the threads of a block exchange by volatile words without a barrier, as if in lockstep, are wrong.
#pragma once

#include <map>
#include <mutex>
#include <set>
#include <utility>

#include "access.h"

namespace simt::checked {

// The volatile reads of a launch.
class VolatileReads {
public:
    void note(uint32_t array, uint32_t code);
    void note_test(uint32_t code);  // the value was compared with a constant
    bool is_flag(uint32_t array) const;

private:
    std::mutex mutex_;
    std::map<uint32_t, std::set<uint32_t>> codes_;  // of the instructions, by array
    std::set<uint32_t> tests_;
};

// The last access of this OS thread, if it was a volatile read whose value may be compared next.
struct AwaitedTest {
    bool is_there;
    VolatileReads* reads;
    const Lane* lane;
    uint32_t code;
    uint64_t value;
    unsigned bits;
};
extern __thread AwaitedTest awaited_test __attribute__((tls_model("initial-exec")));

// A value is compared with a constant.
void compared_with_constant(uint64_t value);

}  // namespace simt::checked
