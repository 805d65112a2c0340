// The heap of kernels: `malloc`, `free`, `new` and `delete` in device code (CUDA guide, "Dynamic Global Memory Allocation").
//
// It is as small as a GPU's is by default. What a kernel does not free stays, also in its next launches, until another one
// is loaded.
#include <stdlib.h>
#include <string.h>

#include <mutex>
#include <unordered_map>

#include "worker.h"

namespace {

constexpr size_t heap_bytes = 8 << 20;

// What each byte of new memory holds: NaN as a float and -1 as an integer, but large numbers in reverse order, and negative
// ones in a random order, since a comparison may hide either.
int garbage(uint32_t order) { return order == simt::usual_order ? 0xff : order == simt::reverse_order ? 0x7b : 0xfb; }

// The lane that calls; null in functions of the host that a file has, too, which use the C library's heap.
simt::Lane* caller() {
    simt::Lane* const lane = simt::current_lane;
    return lane && lane->block ? lane : nullptr;
}

std::mutex mutex;
std::unordered_map<void*, size_t> pieces;  // that are allocated, with their sizes
size_t used = 0;                           // bytes

}  // namespace

extern "C" {

__attribute__((visibility("default"))) void* simt_malloc(size_t bytes) noexcept {
    simt::Lane* const lane = caller();
    if (!lane) return malloc(bytes);
    simt::Worker* const worker = simt::block_of(lane)->worker;
    const simt::NoEscape no_escape(worker);
    const std::lock_guard<std::mutex> guard(mutex);
    void* const made = bytes <= heap_bytes - used ? malloc(bytes) : nullptr;
    if (!made) {
        worker->launch->heap_was_full = true;
        return nullptr;
    }
    pieces.emplace(made, bytes);
    used += bytes;
    return memset(made, garbage(worker->launch->request.order), bytes);
}

__attribute__((visibility("default"))) void simt_free(void* piece) noexcept {
    simt::Lane* const lane = caller();
    if (!lane || !piece) return free(piece);
    simt::Worker* const worker = simt::block_of(lane)->worker;
    {
        const simt::NoEscape no_escape(worker);
        const std::lock_guard<std::mutex> guard(mutex);
        const auto found = pieces.find(piece);
        if (found != pieces.end()) {
            used -= found->second;
            pieces.erase(found);
            return free(piece);
        }
    }
    worker->frees_wrongly = true;
    __builtin_trap();  // as a fault, so that its line is found
}

// Frees what kernels have left.
__attribute__((visibility("default"))) void simt_reset_heap() {
    const std::lock_guard<std::mutex> guard(mutex);
    for (const auto& piece : pieces) free(piece.first);
    pieces.clear();
    used = 0;
}

}
