#include "faults.h"

#include <stdio.h>
#include <string.h>
#include <ucontext.h>

#include "worker.h"

namespace simt {

namespace {

struct MachineState {
    uintptr_t code_address = 0;
    uintptr_t stack_pointer = 0;
    bool is_write = false;
};

#if defined(__x86_64__)

MachineState machine_state(const ucontext_t* context) {
    constexpr unsigned long page_fault_on_write = 2;
    const auto& registers = context->uc_mcontext.gregs;
    MachineState state;
    state.code_address = uintptr_t(registers[REG_RIP]);
    state.stack_pointer = uintptr_t(registers[REG_RSP]);
    state.is_write = (static_cast<unsigned long>(registers[REG_ERR]) & page_fault_on_write) != 0;
    return state;
}

#elif defined(__aarch64__)

// The kernel appends records to the machine context; one of them is the syndrome of the exception.
bool aarch64_write(const ucontext_t* context) {
    constexpr uint32_t syndrome_record = 0x45535201;
    constexpr uint64_t write_not_read = 1u << 6;
    const unsigned char* at = reinterpret_cast<const unsigned char*>(context->uc_mcontext.__reserved);
    const unsigned char* const end = at + sizeof context->uc_mcontext.__reserved;
    while (at + 16 <= end) {
        uint32_t header[2];  // kind, size
        memcpy(header, at, sizeof header);
        if (header[0] == 0 || header[1] == 0) return false;
        if (header[0] == syndrome_record) {
            uint64_t syndrome;
            memcpy(&syndrome, at + sizeof header, sizeof syndrome);
            return syndrome & write_not_read;
        }
        at += header[1];
    }
    return false;
}

MachineState machine_state(const ucontext_t* context) {
    MachineState state;
    state.code_address = uintptr_t(context->uc_mcontext.pc);
    state.stack_pointer = uintptr_t(context->uc_mcontext.sp);
    state.is_write = aarch64_write(context);
    return state;
}

#else

MachineState machine_state(const ucontext_t*) { return MachineState(); }

#endif

bool in_kernel_code(const LaunchRequest& request, uintptr_t address) {
    return address >= request.code_begin && address < request.code_end;
}

// The instruction of the kernel's own module that faulted. If the fault is in a library that the kernel called, it is the
// calls: the words on the stack that point into the module's code. A few such words may be left from earlier calls.
void find_code_addresses(Worker* worker, const MachineState& state, uint64_t (&found)[8]) {
    const LaunchRequest& request = worker->launch->request;
    if (in_kernel_code(request, state.code_address)) {
        found[0] = state.code_address;
        return;  // the stack may have overflowed, so that it cannot be read
    }
    int count = 0;
    const uintptr_t end = worker->fibers.stack_end(state.stack_pointer);
    for (uintptr_t at = state.stack_pointer & ~uintptr_t(7); at + sizeof(void*) <= end && count < 8; at += sizeof(void*)) {
        const uintptr_t word = *reinterpret_cast<const uintptr_t*>(at);
        if (in_kernel_code(request, word)) found[count++] = word - 1;  // the call itself, not what follows it
    }
}

void copy(uint32_t (&to)[3], const uint3& from) {
    to[0] = from.x;
    to[1] = from.y;
    to[2] = from.z;
}

void describe(Fault& fault, Worker* worker, int signal, const siginfo_t* info, const ucontext_t* context) {
    const MachineState state = machine_state(context);
    const uintptr_t address = reinterpret_cast<uintptr_t>(info->si_addr);
    const Lane* const lane = current_lane != &worker->outside ? current_lane : nullptr;
    const RunningBlock* const block = lane ? block_of(lane) : &worker->block;
    const bool bad_memory = signal == SIGSEGV || signal == SIGBUS;
    fault.signal = signal;
    find_code_addresses(worker, state, fault.code_addresses);
    fault.data_address = bad_memory ? address : 0;
    fault.is_write = state.is_write;
    fault.is_unaddressed = (signal == SIGSEGV && info->si_code == SI_KERNEL) ||
                           (signal == SIGBUS && info->si_code == BUS_ADRALN);
    fault.in_stack_guard = bad_memory && worker->fibers.has_stack_at(address);
    fault.in_shared_guard = bad_memory && block->dynamic_shared_memory.guards(address);
    if (fault.in_shared_guard) {
        fault.shared_offset = int64_t(address - reinterpret_cast<uintptr_t>(block->dynamic_shared));
    }
    fault.frees_wrongly = worker->frees_wrongly;
    copy(fault.block, block->index);
    if (!lane) return;
    copy(fault.thread, lane->thread_index);
    fault.warp = lane->warp->number;
    fault.lane = lane->number;
    fault.last_line = lane->line;
    if (lane->line && lane->file) strncpy(fault.last_file, lane->file, sizeof fault.last_file - 1);
}

// Runs on a stack of its own, since the lane's may be the one that overflowed.
void on_signal(int signal, siginfo_t* info, void* context) {
    Worker* const worker = current_worker;
    if (!worker || !worker->may_escape) {
        if (signal == interruption) return;  // it holds a lock; the next interruption will find it without
        ::signal(signal, SIG_DFL);           // a fault of our own or of somebody else: die of it
        raise(signal);
        return;
    }
    Launch& launch = *worker->launch;
    if (signal == interruption && !launch.interrupted) return;  // meant for an earlier launch
    worker->may_escape = 0;
    if (!launch.stopped.exchange(true)) {
        launch.report.outcome = signal == interruption ? Outcome::timeout : Outcome::fault;
        describe(launch.report.fault, worker, signal, info, static_cast<const ucontext_t*>(context));
    }
    siglongjmp(worker->escape, 1);
}

}  // namespace

constexpr int SignalsCaught::signals_[];

SignalsCaught::SignalsCaught() {
    struct sigaction action = {};
    action.sa_sigaction = on_signal;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;  // never SA_NODEFER: a fault in the handler must kill, not recurse
    sigemptyset(&action.sa_mask);
    for (int i = 0; i < count_; ++i) sigaction(signals_[i], &action, &before_[i]);
}

SignalsCaught::~SignalsCaught() {
    for (int i = 0; i < count_; ++i) sigaction(signals_[i], &before_[i], nullptr);
}

}  // namespace simt
