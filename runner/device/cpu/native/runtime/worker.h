// One OS thread that runs blocks, and the launch that several of them share.
#pragma once

#include <setjmp.h>
#include <signal.h>

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <numeric>
#include <vector>

#include "../simt/state.h"
#include "copies.h"
#include "fiber.h"
#include "interface.h"
#include "shared_memory.h"

namespace simt {

namespace checked {
class Monitor;
struct BlockWatch;
struct Quick;
}  // namespace checked

struct Launch {
    const LaunchRequest& request;
    LaunchReport& report;
    dim3 grid_size;
    dim3 block_size;
    uint64_t block_count;
    bool resident;  // all blocks take turns on one OS thread, so that each may wait for any other

    std::atomic<uint64_t> next_block{0};
    std::atomic<bool> stopped{false};  // by whoever found the first error; the only one to write the report's error
    std::atomic<bool> interrupted{false};
    std::atomic<bool> heap_was_full{false};  // when a kernel called `malloc` or `new`
    std::atomic<uint64_t> undefined_reads{0};

    std::mutex mutex;  // guards what follows, and the report's text fields
    std::condition_variable changed;
    unsigned running = 0;
    std::shared_ptr<checked::Monitor> monitor;  // of a checked launch

    Launch(const LaunchRequest& request_, LaunchReport& report_)
        : request(request_),
          report(report_),
          grid_size(request_.grid[0], request_.grid[1], request_.grid[2]),
          block_size(request_.block[0], request_.block[1], request_.block[2]),
          block_count(chosen() ? request.checked->block_count : grid_size.volume()),
          resident(request.cooperative || is_to_interleave()) {}

    // The `n`th block to run, in the order that the launch asks for.
    uint64_t block_number(uint64_t n) const {
        if (chosen()) return request.checked->blocks[n];
        if (request.order == usual_order) return n;
        if (request.order == reverse_order) return block_count - 1 - n;
        return uint64_t(((unsigned __int128)n * block_step() + request.order) % block_count);
    }

private:
    bool chosen() const { return request.checked && request.checked->blocks; }

    // On the checked device, few blocks: one may wait for another that would come later.
    bool is_to_interleave() const {
#ifdef SIMT_CHECKED
        constexpr uint64_t most_blocks = 64, most_threads = 16384;
        constexpr uint64_t few_blocks = 16;
        const bool others_help = request.order == usual_order && request.os_threads > 1 && block_count > few_blocks;
        return !chosen() && !others_help && block_count <= most_blocks &&
               block_count * block_size.volume() <= most_threads;
#else
        return false;
#endif
    }

    // Without a common divisor with the number of blocks, so that its multiples reach all of them.
    uint64_t block_step() const {
        uint64_t step = block_count / 8 * 5 | 1;
        while (std::gcd(step, block_count) != 1) ++step;
        return step;
    }
};

// The barrier that the block's threads gather at, or have left last.
struct BarrierState {
    Operation operation;    // of the first thread to arrive
    const char* file;
    int line;
    bool differs;           // some thread came from elsewhere
    uint32_t true_so_far;   // how many came with a true predicate
    uint32_t true_at_release;
    uint32_t live_at_release;
};

// A group of several whole warps of a block, whose threads exchange values.
struct Team {
    unsigned size = 0;
    unsigned arrived = 0;
    uint32_t phase = 0;
    const char* name = nullptr;  // of what the threads that have arrived called, and where
    int line = 0;
    std::vector<uint64_t> values;
};

// One of the 16 barriers of a block that PTX numbers.
struct NamedBarrier {
    uint32_t threads = 0;  // that the first warp of this phase named; 0: all of the block
    uint32_t arrived = 0;  // threads, whole warps
    uint32_t phase = 0;
    uint32_t warps = 0;    // that have arrived
    uint32_t waiting[max_warps] = {};  // lanes of each warp
    int line = 0;          // of the first warp that has arrived
};

struct Worker;

// A block that has begun and not ended.
struct RunningBlock : Block {
    Warp warps[max_warps];
    Lane lanes[max_threads];
    const Condition* conditions[max_threads];  // meaningful while a lane's bit in Warp::on_condition is set
    unsigned thread_count = 0;
    unsigned warp_count = 0;
    uint64_t random = 0;          // state of the generator of random choices
    uint32_t runnable_warps = 0;  // a bit for each warp that has unstarted or ready lanes, perhaps stale
    BarrierState gathering;
    uint32_t grid_phase = 0;  // in which it arrived at the barrier of the grid last
    std::vector<Team> teams;
    std::vector<NamedBarrier> named_barriers;  // none, or all
    Copies copies;
    DynamicSharedMemory dynamic_shared_memory;
    Worker* worker;
    std::shared_ptr<checked::BlockWatch> watch;  // of a checked launch
    checked::Quick* quick = nullptr;             // its short way, while accesses are the kernel's
    std::vector<unsigned char> own_shared;  // in a cooperative launch: its static shared variables while another one runs

    explicit RunningBlock(Worker* worker_);
};

// What the blocks of a cooperative launch have in common.
struct Grid {
    unsigned arrived = 0;  // blocks, at the barrier of the grid
    uint32_t phase = 0;    // how often all of them were there
};

struct Worker {
    RunningBlock block;  // the only one, unless the launch is cooperative
    std::vector<std::unique_ptr<RunningBlock>> further;  // blocks of cooperative launches, kept for the next one
    Grid grid;
    FiberPool fibers;
    Lane outside = {};  // none of a kernel's: stands for the OS thread's own stack
    Launch* launch = nullptr;
    unsigned spins = 0;
    bool frees_wrongly = false;  // an address that is not allocated

    // This OS thread's copy of the kernel's static shared variables.
    unsigned char* static_shared = nullptr;
    size_t static_shared_bytes = 0;

    sigjmp_buf escape;  // out of whatever a lane is doing, back to the OS thread's own stack
    volatile sig_atomic_t may_escape = 0;

    Worker();
};

extern __thread Worker* current_worker __attribute__((tls_model("initial-exec")));

// Whether bytes around its shared memory must keep their content; what lies on an inaccessible page needs no check.
inline bool has_shared_guards(const Worker* worker) {
    return worker->static_shared_bytes || DynamicSharedMemory::slack(worker->launch->request.dynamic_shared);
}

inline RunningBlock* block_of(const Lane* lane) { return static_cast<RunningBlock*>(lane->block); }

// While this exists a signal cannot throw the thread out of the code it runs: it holds a lock.
class NoEscape {
public:
    explicit NoEscape(Worker* worker) : worker_(worker), before_(worker->may_escape) { worker_->may_escape = 0; }
    ~NoEscape() { worker_->may_escape = before_; }
    NoEscape(const NoEscape&) = delete;
    NoEscape& operator=(const NoEscape&) = delete;

private:
    Worker* worker_;
    sig_atomic_t before_;
};

}  // namespace simt
