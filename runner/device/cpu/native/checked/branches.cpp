// The functions that code compiled with -fsanitize-coverage=trace-pc,trace-cmp calls: one at the beginning of each basic
// block, one before each comparison. The interface is the one of GCC and Clang (SanitizerCoverage).
#include "flags.h"
#include "monitor.h"

namespace simt::checked {

bool watches_branches = false;

namespace {

template <class Tell>
inline void tell(const void* return_address, Tell tell_one) {
    const Lane* const lane = current_lane;
    const Worker* const worker = current_worker;
    if (!lane || !worker || lane == &worker->outside) return;
    BlockWatch* const watch = block_of(lane)->watch.get();
    if (!watch || watch->is_off) return;
    const NoEscape no_escape(current_worker);
    const uint64_t code = reinterpret_cast<uintptr_t>(return_address) - 1 - worker->launch->request.code_begin;
    for (const auto& observer : watch->observers) tell_one(*observer, *lane, uint32_t(code));
}

__attribute__((noinline)) void comparison(const void* from) {
    tell(from, [](BlockObserver& o, const Lane& lane, uint32_t code) { o.comparison(lane, code); });
}

__attribute__((noinline)) void step(const void* from) {
    tell(from, [](BlockObserver& o, const Lane& lane, uint32_t code) { o.step(lane, code); });
}

}  // namespace

}  // namespace simt::checked

// They are called so often that a search for races, which needs none of them, must leave at once.
#define SIMT_BRANCHES(WHAT) \
    if (__builtin_expect(simt::checked::watches_branches, 0)) simt::checked::WHAT(SIMT_CALLER)
#define SIMT_COMPARISON(NAME, T) \
    SIMT_HOOK void __sanitizer_cov_trace_##NAME(T, T) { SIMT_BRANCHES(comparison); }
SIMT_COMPARISON(cmp1, uint8_t)
SIMT_COMPARISON(cmp2, uint16_t)
SIMT_COMPARISON(cmp4, uint32_t)
SIMT_COMPARISON(cmp8, uint64_t)
// The constant comes first.
#define SIMT_COMPARISON_WITH_CONSTANT(NAME, T)                                                  \
    SIMT_HOOK void __sanitizer_cov_trace_##NAME(T, T value) {                                   \
        SIMT_BRANCHES(comparison);                                                              \
        if (simt::checked::awaited_test.is_there) simt::checked::compared_with_constant(value); \
    }
SIMT_COMPARISON_WITH_CONSTANT(const_cmp1, uint8_t)
SIMT_COMPARISON_WITH_CONSTANT(const_cmp2, uint16_t)
SIMT_COMPARISON_WITH_CONSTANT(const_cmp4, uint32_t)
SIMT_COMPARISON_WITH_CONSTANT(const_cmp8, uint64_t)
SIMT_COMPARISON(cmpf, float)
SIMT_COMPARISON(cmpd, double)
SIMT_HOOK void __sanitizer_cov_trace_switch(uint64_t value, void*) {
    SIMT_BRANCHES(comparison);
    if (simt::checked::awaited_test.is_there) simt::checked::compared_with_constant(value);
}
SIMT_HOOK void __sanitizer_cov_trace_pc() { SIMT_BRANCHES(step); }
