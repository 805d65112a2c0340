#include "monitor.h"

#include <stdio.h>
#include <string.h>

#include <algorithm>

#include "../runtime/diagnostics.h"
#include "../runtime/events.h"
#include "flags.h"
#include "line_costs.h"
#include "quick.h"
#include "races.h"

namespace simt::checked {

namespace {

constexpr uint64_t dynamic_room = DynamicSharedMemory::guard + DynamicSharedMemory::capacity;

Array array_of(const CheckedArray& given, uint32_t number, Space space, uintptr_t base) {
    Array made = {};
    made.space = given.is_variable ? Space::variable : space;
    made.read_only = given.is_read_only;
    made.has_content = given.has_content;
    made.constant = given.is_constant;
    made.number = number;
    made.element = given.element_bytes;
    made.begin = base + given.begin;
    made.bytes = given.bytes;
    made.origin = given.origin;
    made.guard_begin = given.guard_begin;
    made.guard_end = given.guard_end;
    return made;
}

bool lies_before(const Array& one, const Array& other) { return one.begin < other.begin; }

}  // namespace

Monitor::Monitor(const LaunchRequest& request) : request_(request) {
    for (uint32_t i = 0; i < this->request().array_count; ++i) {
        arrays_.push_back(array_of(this->request().arrays[i], i, Space::global, 0));
    }
    std::sort(arrays_.begin(), arrays_.end(), lies_before);
    if (this->request().counts) {
        observers_.push_back(std::make_unique<LineCosts>());
    } else {
        observers_.push_back(std::make_unique<Races>(*this));
    }
}

const Array* Monitor::find(uintptr_t address) const {
    auto behind = std::upper_bound(arrays_.begin(), arrays_.end(), address,
                                   [](uintptr_t at, const Array& array) { return at < array.guard_begin; });
    if (behind == arrays_.begin()) return nullptr;
    --behind;
    return address < behind->guard_end ? &*behind : nullptr;
}

std::vector<std::unique_ptr<BlockObserver>> Monitor::watch(RunningBlock& block) const {
    std::vector<std::unique_ptr<BlockObserver>> made;
    for (const auto& observer : observers_) made.push_back(observer->watch(block));
    return made;
}

void Monitor::stop(Worker* worker, Fault fault, const Access& access) {
    const uint3& b = access.lane->block->index;
    const uint3& t = access.lane->thread_index;
    char line[512];
    snprintf(line, sizeof line, "fault\t%d\t%u\t%d\t%lld\t%u\t%d\t%u,%u,%u\t%u,%u,%u\n", int(fault), access.code,
             int(access.array->number) | (access.array->space == Space::shared) << 30, (long long)access.offset,
             access.bytes, access.writes, b.x, b.y, b.z, t.x, t.y, t.z);
    end(worker, line);
}

void Monitor::end(Worker* worker, const char* line) {
    worker->may_escape = 0;
    Launch& launch = *worker->launch;
    if (!launch.stopped.exchange(true)) {
        const std::lock_guard<std::mutex> guard(launch.mutex);
        end_ = line;
        launch.report.outcome = Outcome::found;
        launch.changed.notify_all();
    }
    siglongjmp(worker->escape, 1);
}

std::string Monitor::report() const {
    std::string text = end_;
    for (const auto& observer : observers_) observer->report(text);
    return text;
}

BlockWatch::BlockWatch(Monitor* monitor_, RunningBlock& block) : monitor(monitor_) {
    const CheckedRequest& request = monitor->request();
    const Worker& worker = *block.worker;
    const uintptr_t base = reinterpret_cast<uintptr_t>(worker.static_shared);
    if (worker.static_shared_bytes) {
        static_begin = base;
        static_end = base + worker.static_shared_bytes;
        for (uint32_t i = 0; i < request.shared_count; ++i) {
            Array array = array_of(request.shared[i], i, Space::shared, base);
            array.origin = base;
            shared.push_back(array);
        }
        std::sort(shared.begin(), shared.end(), lies_before);
    }
    if (const uint64_t bytes = monitor->launch().dynamic_shared) {
        Array dynamic = {};
        dynamic.space = Space::shared;
        dynamic.number = uint32_t(request.shared_count);
        dynamic.element = 1;
        dynamic.begin = dynamic.origin = reinterpret_cast<uintptr_t>(block.dynamic_shared);
        dynamic.bytes = bytes;
        shared.push_back(dynamic);
    }
    observers = monitor->watch(block);
}

// An address between two static shared arrays belongs to the one that it lies behind, unless it is much closer to the other.
const Array* BlockWatch::find(uintptr_t address, const RunningBlock& block) {
    if (address >= static_begin && address < static_end) {
        constexpr uintptr_t much = 4;
        const Array *before = nullptr, *behind = nullptr;
        for (const Array& array : shared) {
            if (array.begin < static_begin || array.begin >= static_end) continue;
            if (array.holds(address)) return array.element ? &array : nullptr;  // else the shim's own
            if (!array.element) continue;
            if (array.begin < address) before = &array;
            if (array.begin > address && !behind) behind = &array;
        }
        if (!before || !behind) return before ? before : behind;
        return (behind->begin - address) * much <= address - before->begin - before->bytes ? behind : before;
    }
    if (block.dynamic_shared_memory.guards(address)) {
        return monitor->launch().dynamic_shared ? &shared.back() : nullptr;
    }
    return monitor->find(address);
}

void access(uintptr_t address, uint64_t bytes, Access& made) {
    Lane* const lane = current_lane;
    Worker* const worker = current_worker;
    if (!lane || lane == &worker->outside) return;
    RunningBlock* const block = block_of(lane);
    BlockWatch* const watch = block->watch.get();
    if (!watch || watch->is_off) return;
    const Array* array = watch->last;
    if (!array || address - array->begin >= array->bytes) {
        const uintptr_t from_worker = address - reinterpret_cast<uintptr_t>(worker);
        if (from_worker < sizeof *worker || worker->fibers.has_stack_at(address)) return;
        array = watch->find(address, *block);
        if (!array) return;
    }
    made.array = array;
    made.offset = address - array->begin;
    made.address = address;
    made.bytes = uint32_t(bytes);
    made.lane = lane;
    const NoEscape no_escape(worker);
    if (__builtin_expect(made.offset >= array->bytes || bytes > array->bytes - made.offset, 0)) {
        watch->monitor->stop(worker, Fault::outside, made);
    }
    if (__builtin_expect(array->read_only && made.writes, 0)) watch->monitor->stop(worker, Fault::read_only, made);
    if (__builtin_expect(made.is_aligned && address % bytes, 0)) watch->monitor->stop(worker, Fault::misaligned, made);
    watch->last = array;
    for (const auto& observer : watch->observers) observer->access(made);
}

}  // namespace simt::checked

namespace simt::events {

namespace {

template <class Tell>
void tell(RunningBlock* block, Tell tell_one) {
    checked::BlockWatch* const watch = block->watch.get();
    if (!watch || watch->is_off) return;
    const NoEscape no_escape(block->worker);
    for (const auto& observer : watch->observers) tell_one(*observer);
}

}  // namespace

namespace {

// The short way of the block's only observer.
checked::Quick* quick_of(const RunningBlock& block) {
    const checked::BlockWatch* const watch = block.watch.get();
    return watch && watch->observers.size() == 1 ? watch->observers.front()->quick() : nullptr;
}

}  // namespace

void launch_begins(Launch& launch) {
    checked::reset_turns();
    checked::watches_branches = launch.request.checked && launch.request.checked->counts;
    if (launch.request.checked) launch.monitor = std::make_shared<checked::Monitor>(launch.request);
}

void launch_ends(Launch& launch) {
    if (!launch.monitor) return;
    const std::string text = launch.monitor->report();
    CheckedRequest& request = *launch.request.checked;
    request.out_bytes = text.size();
    memcpy(request.out, text.data(), std::min<size_t>(text.size(), request.out_capacity));
}

void lay_out(RunningBlock* block, Launch& launch) {
    block->watch = launch.monitor ? std::make_shared<checked::BlockWatch>(launch.monitor.get(), *block) : nullptr;
    block->quick = quick_of(*block);
}

void leave(Worker* worker) {
    const auto forget = [](RunningBlock& block) {
        block.watch = nullptr;
        block.quick = nullptr;
    };
    forget(worker->block);
    for (const auto& block : worker->further) forget(*block);
}

void block_begins(RunningBlock* block, uint64_t number) {
    checked::awaited_test.is_there = false;  // of a launch that ended early
    tell(block, [&](checked::BlockObserver& o) { o.begins(uint32_t(number)); });
    if (block->watch) block->watch->last = nullptr;
}
void block_ends(RunningBlock* block) {
    tell(block, [](checked::BlockObserver& o) { o.ends(); });
}
void barrier(RunningBlock* block) {
    tell(block, [](checked::BlockObserver& o) { o.barrier(); });
}
void grid_barrier(RunningBlock* block) {
    tell(block, [](checked::BlockObserver& o) { o.grid_barrier(); });
}
void warp_meets(Warp* warp, Operation operation, uint32_t lanes) {
    tell(block_of(warp->lanes), [&](checked::BlockObserver& o) {
        if (operation == Operation::syncwarp) {
            o.warp_sync(*warp, lanes);
        } else {
            o.warp_collective(*warp, lanes);
        }
    });
}
void team_meets(RunningBlock* block, unsigned first, unsigned count) {
    tell(block, [&](checked::BlockObserver& o) { o.team_sync(first, count); });
}
void named_barrier_arrives(RunningBlock* block, uint32_t number, const Warp* warp, uint32_t lanes) {
    tell(block, [&](checked::BlockObserver& o) { o.arrives(number, *warp, lanes); });
}
void named_barrier_completes(RunningBlock* block, uint32_t number, const uint32_t* waiting) {
    tell(block, [&](checked::BlockObserver& o) { o.completes(number, waiting); });
}

Unwatched::Unwatched(RunningBlock* block) : block_(block->watch ? block : nullptr) {
    if (!block_) return;
    before_ = block_->watch->is_off;
    block_->watch->is_off = true;
    block_->quick = nullptr;
}
Unwatched::~Unwatched() {
    if (!block_) return;
    block_->watch->is_off = before_;
    if (!before_) block_->quick = quick_of(*block_);
}

}  // namespace simt::events
