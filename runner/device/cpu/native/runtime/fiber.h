// Stacks on which lanes run.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <vector>

namespace simt {

// A fiber is a worker: it runs one lane after the other, and stays with a lane only while that lane waits. So a kernel
// without barriers needs one, a kernel with shuffles 32, one with barriers as many as its block has threads, and one with
// barriers of the grid as many as the grid has.
struct Fiber {
    void* stack_pointer;
    Fiber* next_free;
    unsigned char* stack;
    void* context;  // only for the portable switch
};

class FiberPool {
public:
    static constexpr size_t stack_bytes = 64 * 1024;  // virtual; only touched pages are in memory
    static constexpr size_t most = 16384;             // of which each makes two mappings, and Linux allows 65530

    explicit FiberPool(void (*body)()) : body_(body) {}
    ~FiberPool();
    FiberPool(const FiberPool&) = delete;
    FiberPool& operator=(const FiberPool&) = delete;

    Fiber* take() {
        Fiber* fiber = free_;
        if (__builtin_expect(!fiber, 0)) return make();
        free_ = fiber->next_free;
        return fiber;
    }

    void give_back(Fiber* fiber) {
        fiber->next_free = free_;
        free_ = fiber;
    }

    // Makes all fibers as new, wherever they were.
    void reset();

    bool has_stack_at(uintptr_t address) const;

    // The end of the stack that `address` is on, or 0.
    uintptr_t stack_end(uintptr_t address) const;

private:
    Fiber* make();
    void prepare(Fiber* fiber);

    void (*body_)();
    Fiber* free_ = nullptr;
    std::vector<Fiber*> all_;
    unsigned char* arena_ = nullptr;
};

}  // namespace simt
