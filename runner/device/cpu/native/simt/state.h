// The state that a kernel's translation unit shares with the runtime.
//
// One CUDA thread is a Lane; 32 lanes are a Warp; up to 32 warps are a Block. A block runs on one OS thread, and its
// lanes take turns there: each runs until it has to wait for others (a collective of its warp, or a barrier).
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "dimensions.h"
#include "operation.h"

namespace simt {

constexpr unsigned lanes_per_warp = 32;
constexpr unsigned max_warps = 32;
constexpr unsigned max_threads = lanes_per_warp * max_warps;
constexpr uint32_t all_lanes = 0xffffffffu;

constexpr uint32_t bit(unsigned lane) { return 1u << lane; }

// The scope of an atomic function. Only the checked device tells them apart.
enum class AtomicScope : uint8_t { device, block, thread };

struct Fiber;
struct Warp;
struct Block;

struct alignas(64) Lane {  // one line of the cache
    uint3 thread_index;
    uint32_t number;      // 0 to 31, its place in the warp
    Warp* warp;
    Block* block;
    Fiber* fiber;         // null until the lane has started
    void* stack_pointer;  // of the suspended lane
    const char* file;     // where it called a collective or a barrier last
    int32_t line;
    Operation barrier;    // which kind of barrier it waits at; meaningful while its bit in Warp::at_barrier is set
};

struct Warp {
    // Sets of lanes, a bit each. A live lane is in one of the first five, or is the one that runs.
    uint32_t unstarted;
    uint32_t ready;       // what they waited for has happened
    uint32_t waiting;     // in a collective of the warp
    uint32_t at_barrier;
    uint32_t on_condition;  // wait for a word in memory to change
    uint32_t live;        // exist, and have not returned

    uint32_t number;
    Lane* lanes;

    // Written by each lane that arrives at a collective, for itself; read by the last one that arrives, which fills in
    // `result` for all of them.
    Rendezvous expects[lanes_per_warp];
    uint64_t operand[lanes_per_warp];
    uint8_t source[lanes_per_warp];  // shuffles: the lane to read
    uint64_t result[lanes_per_warp];
};

struct Block {
    dim3 grid_size;
    dim3 block_size;
    uint3 index;
    unsigned char* dynamic_shared;
    uint32_t live;        // threads that have not returned
    uint32_t at_barrier;  // of these, how many wait at a barrier
    uint32_t order;       // in which lanes run: 0 as they are numbered, 1 in reverse, else a seed of random choices
};

// What a lane gets in place of an undefined value: wrong for sure, and easy to recognise. As a float or a double it is a
// NaN, which no tolerance lets pass; as an integer it is large. A maximum or a comparison may hide either. So in reverse
// order it is a large positive number of any type, and in a random one negative: large as a float or as an integer.
inline uint64_t undefined_value(uint32_t order, unsigned lane) {
    switch (order) {
        case 0: return 0x7FFBADC07FFBADC0ull;
        case 1: return 0x7BFF7BFF7BFF7BFFull;
        default: return lane % 2 ? 0xFBFFFBFFFBFFFBFFull : 0x8000800080008000ull;
    }
}

// What a lane waits for that others bring about by writing to memory: a `cuda::barrier`, a group of several warps. It
// lies on the stack of the lane that waits.
struct Condition {
    bool (*holds)(const Condition* self);
    void (*explain)(const Condition* self, char* out, size_t room);  // why it does not hold: the end of a message
    const char* name;       // of what the lane waits in
    const void* address;    // of what it waits for, if other blocks may change that
};

#pragma GCC visibility push(default)

// The lane that runs on this OS thread: the only thread-local variable of the runtime. `__thread` and not
// `thread_local`, for which g++ would check at each use whether it is initialised; initial-exec, since this library is
// loaded once and the variable is small.
extern __thread Lane* current_lane __attribute__((tls_model("initial-exec")));

// The current lane arrives. Each returns the lane to hand over to, or null: go on at once.
Lane* arrive(Rendezvous expected, uint64_t operand, uint32_t source, int line, const char* file);
Lane* arrive_at_barrier(Operation operation, bool predicate, int line, const char* file);

// The current lane waits until the condition holds. The lane to hand over to, or null: look again.
Lane* wait_for(const Condition* condition, int line, const char* file);

// What the barrier that the current lane has just left found, as that kind of barrier reports it.
int barrier_result(Operation operation);

// The current lane has returned. True: `current_lane` is a fresh lane, to be run on this stack.
bool next_lane_slowly();

// Reports that the kernel breaks a rule, and ends the launch.
[[noreturn]] void violation(int line, const char* file, const char* format, ...) __attribute__((format(printf, 3, 4)));

// Reports that the launch has more threads a block than the kernel allows, and ends it.
[[noreturn]] void exceeds_bounds(unsigned threads, unsigned allowed, int line, const char* file);

int print(const char* format, ...);

// The current lane lets all others run that can, before it goes on.
void yield(int line, const char* file);

// To be called where a kernel may spin: yields now and then. `file` may be null.
void maybe_spinning(int line, const char* file);

// Whether all blocks of the launch are resident, so that they can wait for each other.
bool is_cooperative();

// The barrier of the grid: the phase that a block's threads have arrived in, and the wait for its end.
uint32_t arrive_at_grid(int line, const char* file);
void wait_for_grid(uint32_t phase, int line, const char* file);

// All threads of a group of `size` threads, a multiple of 32, arrive with a value each. Gives the values of all.
const uint64_t* exchange(unsigned size, uint64_t value, const char* name, int line, const char* file);

// The warp arrives at one of the block's 16 barriers once all of its live lanes have come. If it `waits`, it goes on when
// as many threads have arrived: a multiple of 32, or (null) all of the block.
void named_barrier(uint32_t number, const uint32_t* threads, bool waits, int line, const char* file);

bool is_shared(const void* address);  // in the shared memory of the current block

// Asynchronous copies: done as late as CUDA allows, so that a missing wait is seen. The first `bytes` are copied, and
// `zeros` more are set to zero. They belong to a barrier, whose phase they end with, or (null) to the thread.
void copy_later(void* to, const void* from, size_t bytes, size_t zeros, const void* barrier);
void commit_copies();                            // of this thread, as one batch
void bind_copies(const void* barrier);           // of this thread to a barrier
void finish_copies(size_t batches_left);         // of this thread, all but its last batches
void finish_copies_of(const void* barrier);

#pragma GCC visibility pop

}  // namespace simt

// The name that <assert.h> calls (see cuda/diagnostics.h).
extern "C" [[noreturn]] __attribute__((visibility("default"))) void simt_assertion_failed(
    const char* expression, const char* file, unsigned line, const char* function) noexcept;

#ifdef SIMT_CHECKED
// In whose sight atomic accesses of this thread are atomic, from now on.
extern "C" __attribute__((visibility("default"))) void simt_atomic_scope(simt::AtomicScope scope) noexcept;
// Bytes of a structure that belong to no member, so that nobody need write them.
extern "C" __attribute__((visibility("default"))) void simt_padding(void* at, size_t bytes) noexcept;
// A look at a word that the checks do not see.
extern "C" __attribute__((visibility("default"))) void simt_peek(const void* from, void* to, size_t bytes) noexcept;
// Writes `desired` and gives 1 if the word is `seen`: an atomic read-modify-write. Else gives 0, and the word in `seen`: a
// look that the checks do not see.
extern "C" __attribute__((visibility("default"))) int simt_try_change(void* address, void* seen, const void* desired,
                                                                      size_t bytes, int order) noexcept;
#endif

// What `clock` and `clock64` give.
extern "C" __attribute__((visibility("default"))) long simt_clock() noexcept;
