// Asynchronous copies into shared memory that are under way.
#pragma once

#include <stdint.h>

#include <unordered_map>
#include <vector>

namespace simt {

struct Copy {
    unsigned char* to;
    uint64_t batch;  // of its thread
    std::vector<unsigned char> content;
};

struct Copies {
    struct OfThread {
        uint64_t committed = 0;  // batches
        std::vector<Copy> copies;
    };
    std::unordered_map<const void*, OfThread> of_threads;
    std::unordered_map<const void*, std::vector<Copy>> of_barriers;

    void clear() {
        of_threads.clear();
        of_barriers.clear();
    }
};

}  // namespace simt
