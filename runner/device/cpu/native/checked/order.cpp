#include "order.h"

#include <algorithm>
#include <unordered_set>

namespace simt::checked {

namespace {

constexpr size_t most_logs = 65536;  // that one question follows; beyond, the answer is yes, so that no alarm is false

bool tells(const Release& release, const Event& event) {
    if (event.clock < release.base) return true;
    if (event.thread == release.thread) return event.clock < release.clock;
    if (release.all && event.clock < (*release.all)[event.thread]) return true;
    const bool same_warp = event.thread / lanes_per_warp == release.thread / lanes_per_warp;
    return same_warp && !release.lanes.empty() && event.clock < release.lanes[event.thread % lanes_per_warp];
}

}  // namespace

bool includes(const std::vector<Seen>& seen, const Event& event, uint32_t block) {
    if (seen.empty()) return false;
    std::vector<Seen> waiting(seen);
    std::unordered_map<const Log*, uint32_t> followed;  // up to which entry
    while (!waiting.empty()) {
        const Seen one = waiting.back();
        waiting.pop_back();
        uint32_t& reached = followed[one.log];
        if (reached >= one.to) continue;
        reached = one.to;
        if (followed.size() > most_logs) return true;
        const std::lock_guard<std::mutex> guard(one.log->mutex);
        const auto visible = [&](const Release& r) { return r.block == block || !(r.in_block || one.in_block); };
        const auto found = one.log->of_block.find(event.block);
        if (found != one.log->of_block.end()) {
            for (auto at = found->second.rbegin(); at != found->second.rend() && *at >= one.from; ++at) {
                if (*at < one.to && visible(one.log->entries[*at]) && tells(one.log->entries[*at], event)) return true;
            }
        }
        for (uint32_t at : one.log->with_seen) {
            if (at < one.from || at >= one.to || !visible(one.log->entries[at])) continue;
            const std::vector<Seen>& more = one.log->entries[at].seen;
            waiting.insert(waiting.end(), more.begin(), more.end());
        }
    }
    return false;
}

void add(std::vector<Seen>& to, const Seen& one) {
    for (Seen& old : to) {
        if (old.log != one.log || old.in_block != one.in_block) continue;
        if (one.from <= old.from && one.to >= old.to) old = one;
        if (old.from <= one.from && old.to >= one.to) return;
    }
    to.push_back(one);
}

void add(std::vector<Seen>& to, const std::vector<Seen>& others) {
    for (const Seen& one : others) add(to, one);
}

Log* Logs::find(uintptr_t address, bool make, bool of_shared) {
    if (!make && empty()) return nullptr;
    Part& part = parts_of_[address / 4 % parts_];
    const std::lock_guard<std::mutex> guard(part.mutex);
    const auto found = part.logs.find(address);
    if (found != part.logs.end()) return found->second.get();
    if (!make) return nullptr;
    any_.store(true, std::memory_order_release);
    auto& log = part.logs[address] = std::make_unique<Log>();
    log->of_shared = of_shared;
    return log.get();
}

void Logs::clear() {
    if (empty()) return;
    for (Part& part : parts_of_) part.logs.clear();
    any_ = false;
}

void publish(Log& log, Release&& release, bool replaces) {
    const std::lock_guard<std::mutex> guard(log.mutex);
    if (replaces) log.start = uint32_t(log.entries.size());
    std::vector<uint32_t>& own = log.of_block[release.block];
    auto& seen = release.seen;
    seen.erase(std::remove_if(seen.begin(), seen.end(),
                              [&](const Seen& s) { return s.log == &log && s.from >= log.start && !s.in_block; }),
               seen.end());
    if (!own.empty() && own.back() >= log.start && seen.empty()) {
        const Release& last = log.entries[own.back()];
        const bool as_much = last.base >= release.base && last.in_block == release.in_block &&
                             (release.clock <= last.base || (last.thread == release.thread && last.clock >= release.clock)) &&
                             release.lanes.empty() && !release.all;
        if (as_much) return;
    }
    const uint32_t number = uint32_t(log.entries.size());
    own.push_back(number);
    if (!seen.empty()) log.with_seen.push_back(number);
    log.entries.push_back(std::move(release));
}

}  // namespace simt::checked
