// The OS threads that run blocks.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <vector>

#include "worker.h"

namespace simt {

// Made on demand and kept for the life of the process: starting threads for each launch would cost more than many a
// launch does. A fiber belongs to one OS thread for ever, since compilers keep the address of thread-local variables in
// a register across a switch.
class Crew {
public:
    static Crew& instance();

    // Runs all blocks of the launch, and returns when every thread has finished with it.
    void run(Launch& launch);

private:
    struct Member;

    Crew() = default;
    void hire(unsigned count);
    void serve(Member& member);
    void wait_for_end(Launch& launch, unsigned count);

    std::vector<std::unique_ptr<Member>> members_;
    std::mutex mutex_;
    std::condition_variable called_;
    Launch* launch_ = nullptr;
    unsigned wanted_ = 0;       // members with a lower number take part
    uint64_t launch_number_ = 0;
};

}  // namespace simt
