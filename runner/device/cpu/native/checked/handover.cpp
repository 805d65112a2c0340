#include "handover.h"

#include <algorithm>

namespace simt::checked {

void Signals::put(Signal (&list)[most_], const Signal& one) {
    Signal* place = nullptr;
    for (Signal& old : list) {
        if (old.address == one.address && old.thread == one.thread) place = &old;
    }
    if (!place) {
        place = std::min_element(list, list + most_, [](const Signal& a, const Signal& b) { return a.tick < b.tick; });
    }
    *place = one;
}

void Signals::note(const Signal& one, bool reads, bool writes) {
    const std::lock_guard<Signals> guard(*this);
    if (reads) put(reads_, one);
    if (writes) put(writes_, one);
}

void Signals::clear() {
    const std::lock_guard<Signals> guard(*this);
    for (Signal& one : reads_) one = Signal();
    for (Signal& one : writes_) one = Signal();
}

Signals* Handovers::of_block(uint32_t number) {
    const std::lock_guard<std::mutex> guard(mutex_);
    const auto found = blocks_.find(number);
    if (found != blocks_.end()) return found->second.get();
    if (blocks_.size() >= most_blocks_) return nullptr;
    return (blocks_[number] = std::make_unique<Signals>()).get();
}

Handover Handovers::between(const Earlier& earlier, const Later& later, uintptr_t raced) {
    Signal writes[Signals::most_], reads[Signals::most_];
    {
        const std::lock_guard<std::mutex> guard(mutex_);
        const auto one = blocks_.find(earlier.block), other = blocks_.find(later.block);
        if (one == blocks_.end() || other == blocks_.end()) return {};
        {
            const std::lock_guard<Signals> signals(*one->second);
            std::copy(one->second->writes_, one->second->writes_ + Signals::most_, writes);
        }
        const std::lock_guard<Signals> signals(*other->second);
        std::copy(other->second->reads_, other->second->reads_ + Signals::most_, reads);
    }
    const bool within = earlier.block == later.block;
    Handover best;
    uint64_t latest = 0;
    for (const Signal& read : reads) {
        if (!read.address || read.address == raced || read.tick < latest) continue;
        // Another thread of the block may have read it, before a barrier.
        if (read.thread != later.thread && read.clock >= later.base) continue;
        for (const Signal& write : writes) {
            if (write.address != read.address || write.tick >= read.tick) continue;
            if (within && (write.thread != earlier.thread || read.thread != later.thread)) continue;
            const bool is_own = write.thread == earlier.thread;
            // Else a thread that signals for itself, but by another word.
            if (!is_own && std::any_of(writes, writes + Signals::most_, [&](const Signal& w) { return w.address && w.thread == earlier.thread; })) continue;
            Handover made;
            made.write_code = write.code;
            made.read_code = read.code;
            if (is_own && write.clock < earlier.clock) made.missing |= Handover::late;
            if (!is_own && earlier.clock >= write.base) made.missing |= Handover::barrier_before;
            const uint32_t since = is_own ? earlier.clock : write.base;  // of another thread: behind the barrier
            const bool by_fence = write.fenced_device > since || write.fenced_all > earlier.clock;
            const bool by_any = write.fenced_block > since;
            if (!write.orders && !by_fence && !(within && by_any)) {
                made.missing |= by_any ? Handover::wider_before : Handover::fence_before;
            }
            const bool is_followed = later.base > read.clock || read.orders ||
                                     (read.thread == later.thread && later.fenced_device > read.clock);
            if (!is_followed) {
                const bool by_block = read.thread == later.thread && later.fenced_block > read.clock;
                if (!(within && by_block)) made.missing |= by_block ? Handover::wider_behind : Handover::fence_behind;
            }
            if (!within && (write.in_block || read.in_block)) made.missing |= Handover::wider_word;
            if (!made.missing) continue;
            best = made;
            latest = read.tick;
        }
    }
    return best;
}

}  // namespace simt::checked
