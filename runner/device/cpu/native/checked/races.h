// Data races, and reads of what nobody wrote.
#pragma once

#include "monitor.h"

namespace simt::checked {

class Races : public Observer {
public:
    explicit Races(Monitor& monitor) : monitor_(monitor) {}
    std::unique_ptr<BlockObserver> watch(RunningBlock& block) override;
    void report(std::string& out) override;

private:
    Monitor& monitor_;
};

}  // namespace simt::checked
