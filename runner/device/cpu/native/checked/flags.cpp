#include "flags.h"

#include <algorithm>

namespace simt::checked {

__thread AwaitedTest awaited_test __attribute__((tls_model("initial-exec"))) = {};

void VolatileReads::note(uint32_t array, uint32_t code) {
    const std::lock_guard<std::mutex> guard(mutex_);
    codes_[array].insert(code);
}

void VolatileReads::note_test(uint32_t code) {
    const std::lock_guard<std::mutex> guard(mutex_);
    tests_.insert(code);
}

bool VolatileReads::is_flag(uint32_t array) const {
    const auto found = codes_.find(array);
    return found != codes_.end() && std::includes(tests_.begin(), tests_.end(), found->second.begin(), found->second.end());
}

void compared_with_constant(uint64_t value) {
    AwaitedTest& awaited = awaited_test;
    const uint64_t mask = awaited.bits < 64 ? (uint64_t(1) << awaited.bits) - 1 : ~uint64_t(0);
    if (awaited.lane == current_lane && ((awaited.value ^ value) & mask) == 0) {
        const NoEscape no_escape(current_worker);
        awaited.reads->note_test(awaited.code);
    }
    awaited.is_there = false;
}

}  // namespace simt::checked
