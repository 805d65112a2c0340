#include "copies.h"

#include <string.h>

#include <algorithm>
#include <utility>

#include "events.h"
#include "worker.h"

namespace simt {

namespace {

void finish(const Copy& copy) {
    memcpy(copy.to, copy.content.data(), copy.content.size());
    events::copied(copy.to, copy.content.size());
}

Copies& copies() { return block_of(current_lane)->copies; }

}  // namespace

// What is read is read now, and what is written is garbage until the copy is done: CUDA leaves open when it happens, so
// either is a value that a GPU might show. Faults are those of the call.
void copy_later(void* to, const void* from, size_t bytes, size_t zeros, const void* barrier) {
    unsigned char* const target = static_cast<unsigned char*>(to);
    if (!is_shared(to)) {  // copied at once on a GPU, too
        events::copies(to, from, bytes, zeros, false, __builtin_return_address(0));
        memmove(target, from, bytes);
        memset(target + bytes, 0, zeros);
        return;
    }
    events::copies(to, from, bytes, zeros, true, __builtin_return_address(0));
    Worker* const worker = current_worker;
    unsigned char* content;
    {
        const NoEscape no_escape(worker);
        Copies::OfThread& mine = copies().of_threads[current_lane];
        std::vector<Copy>& list = barrier ? copies().of_barriers[barrier] : mine.copies;
        list.push_back(Copy{target, mine.committed, std::vector<unsigned char>(bytes + zeros, 0)});
        content = list.back().content.data();
    }
    memcpy(content, from, bytes);
    memset(target, garbage, bytes + zeros);
}

void commit_copies() {
    const NoEscape no_escape(current_worker);
    ++copies().of_threads[current_lane].committed;
}

void bind_copies(const void* barrier) {
    const NoEscape no_escape(current_worker);
    std::vector<Copy>& mine = copies().of_threads[current_lane].copies;
    std::vector<Copy>& list = copies().of_barriers[barrier];
    std::move(mine.begin(), mine.end(), std::back_inserter(list));
    mine.clear();
}

void finish_copies(size_t batches_left) {
    const NoEscape no_escape(current_worker);
    Copies::OfThread& mine = copies().of_threads[current_lane];
    const uint64_t before = mine.committed > batches_left ? mine.committed - batches_left : 0;
    const auto later = std::stable_partition(mine.copies.begin(), mine.copies.end(),
                                             [&](const Copy& copy) { return copy.batch < before; });
    std::for_each(mine.copies.begin(), later, finish);
    mine.copies.erase(mine.copies.begin(), later);
}

void finish_copies_of(const void* barrier) {
    const NoEscape no_escape(current_worker);
    const auto found = copies().of_barriers.find(barrier);
    if (found == copies().of_barriers.end()) return;
    std::for_each(found->second.begin(), found->second.end(), finish);
    copies().of_barriers.erase(found);
}

}  // namespace simt
