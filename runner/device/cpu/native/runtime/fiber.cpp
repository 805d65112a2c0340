#include "fiber.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../simt/stack_switch.h"
#include "../simt/state.h"

#ifdef SIMT_SWITCH_IS_PORTABLE
#include <ucontext.h>
#endif

namespace simt {

namespace {

constexpr size_t arena_bytes = FiberPool::most * FiberPool::stack_bytes;

// All stacks begin at the same offset in a page, so their hot frames would compete for the same sets of the L1 cache.
constexpr size_t stagger_bytes = 192;
constexpr size_t stagger_steps = 16;

}  // namespace

#ifdef SIMT_SWITCH_IS_PORTABLE

namespace {
__thread ucontext_t* running_context = nullptr;
__thread ucontext_t main_context;
}  // namespace

void switch_stack(void** save_here, void* resume) {
    if (!running_context) running_context = &main_context;
    ucontext_t* const mine = running_context;
    *save_here = mine;
    running_context = static_cast<ucontext_t*>(resume);
    swapcontext(mine, running_context);
}

static void* first_frame(Fiber* fiber, unsigned char* top, void (*body)()) {
    if (!fiber->context) fiber->context = new ucontext_t();
    ucontext_t* const context = static_cast<ucontext_t*>(fiber->context);
    getcontext(context);
    context->uc_stack.ss_sp = fiber->stack;
    context->uc_stack.ss_size = size_t(top - fiber->stack);
    context->uc_link = nullptr;
    makecontext(context, body, 0);
    return context;
}

static void forget_running_context() { running_context = nullptr; }

#else

// Where a switch to a fresh stack arrives: calls the body with an aligned stack, as if from nowhere.
extern "C" void simt_fiber_start();

#if defined(__x86_64__)
__asm__(
    ".text\n"
    ".hidden simt_fiber_start\n"
    ".globl simt_fiber_start\n"
    ".type simt_fiber_start, @function\n"
    "simt_fiber_start:\n\t"
    "popq %rax\n\t"
    "xorl %ebp, %ebp\n\t"
    "callq *%rax\n\t"
    "ud2\n"
    ".size simt_fiber_start, . - simt_fiber_start\n");

static void* first_frame(Fiber*, unsigned char* top, void (*body)()) {
    void** stack_pointer = reinterpret_cast<void**>(reinterpret_cast<uintptr_t>(top) & ~uintptr_t(15));
    *--stack_pointer = reinterpret_cast<void*>(body);
    *--stack_pointer = reinterpret_cast<void*>(simt_fiber_start);  // after two pops the stack is aligned for the call
    return stack_pointer;
}
#else
__asm__(
    ".text\n"
    ".globl simt_fiber_start\n"
    "simt_fiber_start:\n\t"
    "ldp x9, xzr, [sp], #16\n\t"
    "mov x29, xzr\n\t"
    "blr x9\n\t"
    "brk #0\n");

static void* first_frame(Fiber*, unsigned char* top, void (*body)()) {
    void** stack_pointer = reinterpret_cast<void**>(reinterpret_cast<uintptr_t>(top) & ~uintptr_t(15));
    *--stack_pointer = nullptr;
    *--stack_pointer = reinterpret_cast<void*>(body);
    stack_pointer -= 4;  // the frame that switch_stack takes off: x29, the address to go to, x19, padding
    stack_pointer[0] = nullptr;
    stack_pointer[1] = reinterpret_cast<void*>(simt_fiber_start);
    stack_pointer[2] = nullptr;
    stack_pointer[3] = nullptr;
    return stack_pointer;
}
#endif

static void forget_running_context() {}

#endif

FiberPool::~FiberPool() {
    if (arena_) munmap(arena_, arena_bytes);
    for (Fiber* fiber : all_) delete fiber;
}

Fiber* FiberPool::make() {
    if (!arena_) {
        const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
        void* const memory = mmap(nullptr, arena_bytes, PROT_READ | PROT_WRITE, flags, -1, 0);
        if (memory == MAP_FAILED) {
            perror("CPU device: no memory for stacks");
            abort();
        }
        arena_ = static_cast<unsigned char*>(memory);
    }
    Fiber* const fiber = new Fiber();
    fiber->stack = arena_ + all_.size() * stack_bytes;
    mprotect(fiber->stack, size_t(sysconf(_SC_PAGESIZE)), PROT_NONE);  // too deep a stack faults here, and is reported
    all_.push_back(fiber);
    prepare(fiber);
    return fiber;
}

void FiberPool::prepare(Fiber* fiber) {
    const size_t index = size_t(fiber->stack - arena_) / stack_bytes;
    unsigned char* const top = fiber->stack + stack_bytes - index % stagger_steps * stagger_bytes;
    fiber->stack_pointer = first_frame(fiber, top, body_);
}

void FiberPool::reset() {
    forget_running_context();
    free_ = nullptr;
    for (size_t i = all_.size(); i-- > 0;) {
        prepare(all_[i]);
        give_back(all_[i]);
    }
}

bool FiberPool::has_stack_at(uintptr_t address) const {
    const uintptr_t begin = reinterpret_cast<uintptr_t>(arena_);
    return arena_ && address >= begin && address < begin + arena_bytes;
}

uintptr_t FiberPool::stack_end(uintptr_t address) const {
    if (!has_stack_at(address)) return 0;
    const uintptr_t begin = reinterpret_cast<uintptr_t>(arena_);
    return begin + ((address - begin) / stack_bytes + 1) * stack_bytes;
}

}  // namespace simt
