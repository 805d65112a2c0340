#include "races.h"

namespace simt::checked {
struct Stub : BlockObserver {
    void begins(uint32_t) override {}
    void access(const Access&) override { ++n; }
    uint64_t n = 0;
};
std::unique_ptr<BlockObserver> Races::watch(RunningBlock&) { return std::make_unique<Stub>(); }
void Races::report(std::string&) {}
}  // namespace simt::checked
