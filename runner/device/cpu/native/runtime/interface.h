// What Python sees of this library; interface.py has the same structures for ctypes.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace simt {

enum class Outcome : int32_t {
    finished,
    violation,  // a rule of CUDA is broken; `message` says all
    fault,      // a signal; `fault` says where
    timeout,    // `fault` says where the kernel stood
    found,      // ended by a check; what it found is in `CheckedRequest::out`
    refused,    // the kernel does not allow this shape; `message` says why
};

// Bytes between static shared variables, which no kernel may write.
struct Zone {
    uint64_t begin;  // in the module's thread-local block
    uint64_t size;
    const char* before;  // the variable that ends here, or null
    uint64_t before_size;
    const char* behind;  // the variable that begins here, or null
    uint64_t behind_size;
};

// An array that a checked launch watches.
struct CheckedArray {
    uint64_t begin;  // an address; of a shared array, its place in the module's thread-local block
    uint64_t bytes;
    uint64_t origin;  // an address that is a multiple of 256 on a GPU
    uint64_t guard_begin;  // addresses from here to `guard_end` that are not in the array are outside of it
    uint64_t guard_end;
    uint32_t element_bytes;  // 0 for what is no array of the kernel
    uint8_t is_read_only;
    uint8_t has_content;  // before the first launch
    uint8_t is_variable;  // a `__device__` or `__constant__` variable
    uint8_t is_constant;  // a `__constant__` variable
};

struct CheckedRequest {
    const CheckedArray* arrays;
    uint64_t array_count;
    const CheckedArray* shared;  // static shared arrays
    uint64_t shared_count;
    char* out;  // what was found, in lines
    uint64_t out_capacity;
    uint64_t out_bytes;  // more than the capacity if it did not fit
    uint32_t is_first;   // of a sequence of launches, which see what earlier ones wrote
    uint32_t is_last;
    uint32_t most;       // pairs of lines, after which the launch ends
    uint32_t counts;     // what each instruction costs, in place of looking for races
    const uint64_t* blocks;  // the numbers of the blocks to run, in order; null for all
    uint64_t block_count;
};

struct LaunchRequest {
    void (*kernel)(void** arguments);
    void* (*shared_anchor)();  // gives the address of some thread-local variable of the kernel's module
    void** arguments;
    uint32_t grid[3];
    uint32_t block[3];
    uint64_t dynamic_shared;
    uint64_t code_begin;  // of the kernel's module in memory
    uint64_t code_end;
    char* printed;
    uint64_t printed_capacity;
    double time_limit;
    int32_t os_threads;
    int32_t cooperative;  // all blocks are resident at once
    uint32_t order;       // in which lanes, warps and blocks run; see below
    const Zone* zones;
    uint64_t zone_count;
    CheckedRequest* checked;  // null for a launch without checks, and always on the plain CPU device
};

// Orders; any other number is the seed of random choices.
constexpr uint32_t usual_order = 0;  // as they are numbered
constexpr uint32_t reverse_order = 1;

struct Fault {
    uint64_t code_addresses[8];  // in the kernel's module, the innermost first; 0 behind the last one
    uint64_t data_address;
    int32_t signal;
    int32_t is_write;
    int32_t is_unaddressed;  // the CPU gave no address: misaligned vector access, or a pointer no CPU can have
    int32_t in_stack_guard;
    int32_t frees_wrongly;    // an address that no `malloc` or `new` of a kernel gave
    int32_t in_shared_guard;  // beyond dynamic shared memory
    int64_t shared_offset;    // then: how far from its beginning
    uint32_t block[3];
    uint32_t thread[3];
    uint32_t warp;
    uint32_t lane;
    int32_t last_line;  // of the last collective or barrier of that thread, 0 if there was none
    char last_file[256];
};

struct LaunchReport {
    Outcome outcome;
    int32_t heap_was_full;  // so `malloc` or `new` has returned null
    double seconds;
    uint64_t undefined_reads;
    uint64_t printed_bytes;  // more than the capacity if some were dropped
    Fault fault;
    char message[2048];
    char first_undefined_read[512];
};

}  // namespace simt

extern "C" __attribute__((visibility("default"))) void simt_launch(const simt::LaunchRequest* request,
                                                                   simt::LaunchReport* report);
