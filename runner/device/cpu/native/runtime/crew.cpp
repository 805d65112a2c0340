#include "crew.h"

#include <fenv.h>
#include <link.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <chrono>
#include <thread>

#include "events.h"
#include "faults.h"
#include "scheduler.h"

namespace simt {

__thread Worker* current_worker __attribute__((tls_model("initial-exec"))) = nullptr;

RunningBlock::RunningBlock(Worker* worker_) : worker(worker_) {
    memset(warps, 0, sizeof warps);
    memset(lanes, 0, sizeof lanes);
    memset(&gathering, 0, sizeof gathering);
}

Worker::Worker() : block(this), fibers(fiber_body) {}

namespace {

constexpr size_t signal_stack_bytes = 64 * 1024;
constexpr auto patience = std::chrono::milliseconds(20);  // between two interruptions of workers that do not stop

// Finds the thread-local block of the module that has the thread-local variable at `worker->static_shared`.
int find_shared_block(dl_phdr_info* info, size_t, void* data) {
    Worker* const worker = static_cast<Worker*>(data);
    unsigned char* const begin = static_cast<unsigned char*>(info->dlpi_tls_data);
    if (!begin) return 0;
    for (int i = 0; i < info->dlpi_phnum; ++i) {
        if (info->dlpi_phdr[i].p_type != PT_TLS) continue;
        const size_t size = info->dlpi_phdr[i].p_memsz;
        if (worker->static_shared < begin || worker->static_shared >= begin + size) continue;
        worker->static_shared = begin;
        worker->static_shared_bytes = size;
        return 1;
    }
    return 0;
}

void lay_out_block(RunningBlock* block, Launch& launch) {
    const dim3& size = launch.block_size;
    block->grid_size = launch.grid_size;
    block->block_size = size;
    block->order = launch.request.order;
    block->dynamic_shared = block->dynamic_shared_memory.provide(launch.request.dynamic_shared);
    block->thread_count = unsigned(size.volume());
    block->warp_count = (block->thread_count + lanes_per_warp - 1) / lanes_per_warp;
    for (unsigned t = 0; t < block->thread_count; ++t) {
        Lane& lane = block->lanes[t];
        lane.thread_index = uint3{t % size.x, t / size.x % size.y, t / size.x / size.y};
        lane.number = t % lanes_per_warp;
        lane.warp = &block->warps[t / lanes_per_warp];
        lane.block = block;
        lane.line = 0;
    }
    for (unsigned w = 0; w < block->warp_count; ++w) {
        block->warps[w].number = w;
        block->warps[w].lanes = &block->lanes[w * lanes_per_warp];
    }
    events::lay_out(block, launch);
}

void lay_out_blocks(Worker* worker, Launch& launch) {
    if (!launch.resident) return lay_out_block(&worker->block, launch);
    while (worker->further.size() < launch.block_count) {
        worker->further.push_back(std::make_unique<RunningBlock>(worker));
    }
    for (uint64_t n = 0; n < launch.block_count; ++n) lay_out_block(worker->further[n].get(), launch);
}

void run_blocks(Worker* worker) {
    Launch& launch = *worker->launch;
    while (!launch.stopped.load(std::memory_order_relaxed)) {
        const uint64_t number = launch.next_block.fetch_add(1, std::memory_order_relaxed);
        if (number >= launch.block_count) return;
        run_block(worker, launch.block_number(number));
    }
}

void block_all_signals_but_faults() {
    sigset_t blocked;
    sigfillset(&blocked);
    for (int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP}) sigdelset(&blocked, signal);
    pthread_sigmask(SIG_SETMASK, &blocked, nullptr);
}

// A thread can be interrupted only during a launch: outside of it our handler is not in place. An interruption that
// comes too late stays pending until the next launch, which then ignores it, since nobody has interrupted that one.
class Interruptible {
public:
    Interruptible() { change(SIG_UNBLOCK); }
    ~Interruptible() { change(SIG_BLOCK); }
    Interruptible(const Interruptible&) = delete;
    Interruptible& operator=(const Interruptible&) = delete;

private:
    static void change(int how) {
        sigset_t set;
        sigemptyset(&set);
        sigaddset(&set, interruption);
        pthread_sigmask(how, &set, nullptr);
    }
};

void take_part(Worker* worker, Launch& launch) {
    worker->launch = &launch;
    worker->static_shared_bytes = 0;
    if (launch.request.shared_anchor) {
        worker->static_shared = static_cast<unsigned char*>(launch.request.shared_anchor());
        dl_iterate_phdr(find_shared_block, worker);
    }
    lay_out_blocks(worker, launch);
    // Fibers may be parked in another kernel's code, which may be unloaded by now, or in the middle of a failed launch.
    worker->fibers.reset();
    worker->frees_wrongly = false;
    fesetround(FE_TONEAREST);  // a launch that was interrupted may have left another mode
    const Interruptible interruptible;
    if (sigsetjmp(worker->escape, 1) == 0) {
        worker->may_escape = 1;
        if (launch.resident) {
            run_grid(worker);
        } else {
            run_blocks(worker);
        }
    }
    worker->may_escape = 0;
    current_lane = nullptr;
    events::leave(worker);
}


}  // namespace

struct Crew::Member {
    unsigned number;
    uint64_t last_launch;
    Worker worker;
    pthread_t thread;
};

Crew& Crew::instance() {
    static Crew* const crew = new Crew();  // never destroyed: its threads run until the process ends
    return *crew;
}

void Crew::hire(unsigned count) {
    while (members_.size() < count) {
        auto member = std::make_unique<Member>();
        member->number = unsigned(members_.size());
        member->last_launch = launch_number_;
        std::thread thread([this, &newcomer = *member] { serve(newcomer); });
        member->thread = thread.native_handle();
        thread.detach();
        members_.push_back(std::move(member));
    }
}

void Crew::serve(Member& member) {
    block_all_signals_but_faults();
    stack_t signal_stack = {};
    signal_stack.ss_sp = malloc(signal_stack_bytes);
    signal_stack.ss_size = signal_stack_bytes;
    sigaltstack(&signal_stack, nullptr);
    current_worker = &member.worker;
    for (;;) {
        Launch* launch = nullptr;
        {
            std::unique_lock<std::mutex> lock(mutex_);
            called_.wait(lock, [&] { return launch_number_ != member.last_launch; });
            member.last_launch = launch_number_;
            if (member.number < wanted_) launch = launch_;
        }
        if (!launch) continue;
        take_part(&member.worker, *launch);
        std::lock_guard<std::mutex> guard(launch->mutex);
        --launch->running;
        launch->changed.notify_all();
    }
}

void Crew::wait_for_end(Launch& launch, unsigned count) {
    const auto limit = std::chrono::duration<double>(launch.request.time_limit);
    std::unique_lock<std::mutex> lock(launch.mutex);
    const auto over = [&] { return launch.running == 0; };
    if (launch.changed.wait_for(lock, limit, [&] { return over() || launch.stopped.load(); }) && over()) return;
    // The time is up, or one of them has failed: interrupt the others wherever they are.
    launch.interrupted = true;
    do {
        lock.unlock();
        for (unsigned i = 0; i < count; ++i) pthread_kill(members_[i]->thread, interruption);
        lock.lock();
    } while (!launch.changed.wait_for(lock, patience, over));
}

void Crew::run(Launch& launch) {
    unsigned count = launch.request.os_threads > 0 ? unsigned(launch.request.os_threads) : 1;
    if (count > launch.block_count) count = unsigned(launch.block_count);
    if (launch.resident) count = 1;  // whose blocks take turns
    launch.running = count;
    {
        std::lock_guard<std::mutex> guard(mutex_);
        hire(count);
        launch_ = &launch;
        wanted_ = count;
        ++launch_number_;
    }
    called_.notify_all();
    wait_for_end(launch, count);
}

}  // namespace simt
