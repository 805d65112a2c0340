// Signals: invalid addresses, divisions by zero, and the end of the time limit.
#pragma once

#include <signal.h>

namespace simt {

constexpr int interruption = SIGUSR2;  // sent to workers that must stop now

// Catches the signals for as long as it exists, and then brings back what was there before.
class SignalsCaught {
public:
    SignalsCaught();
    ~SignalsCaught();
    SignalsCaught(const SignalsCaught&) = delete;
    SignalsCaught& operator=(const SignalsCaught&) = delete;

private:
    static constexpr int signals_[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, interruption};
    static constexpr int count_ = sizeof signals_ / sizeof signals_[0];
    struct sigaction before_[count_];
};

}  // namespace simt
