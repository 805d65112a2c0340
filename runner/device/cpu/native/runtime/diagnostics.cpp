#include "diagnostics.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

namespace simt {

const char* name_of(Operation operation) {
    switch (operation) {
        case Operation::shfl_idx: return "__shfl_sync";
        case Operation::shfl_up: return "__shfl_up_sync";
        case Operation::shfl_down: return "__shfl_down_sync";
        case Operation::shfl_xor: return "__shfl_xor_sync";
        case Operation::syncwarp: return "__syncwarp";
        case Operation::ballot: return "__ballot_sync";
        case Operation::any: return "__any_sync";
        case Operation::all: return "__all_sync";
        case Operation::match_any: return "__match_any_sync";
        case Operation::match_all: return "__match_all_sync";
        case Operation::reduce_add: return "__reduce_add_sync";
        case Operation::reduce_min_signed:
        case Operation::reduce_min_unsigned: return "__reduce_min_sync";
        case Operation::reduce_max_signed:
        case Operation::reduce_max_unsigned: return "__reduce_max_sync";
        case Operation::reduce_and: return "__reduce_and_sync";
        case Operation::reduce_or: return "__reduce_or_sync";
        case Operation::reduce_xor: return "__reduce_xor_sync";
        case Operation::activemask: return "__activemask";
        case Operation::bar_sync: return "bar.sync";
        case Operation::bar_arrive: return "bar.arrive";
        case Operation::barrier: return "__syncthreads";
        case Operation::barrier_count: return "__syncthreads_count";
        case Operation::barrier_and: return "__syncthreads_and";
        case Operation::barrier_or: return "__syncthreads_or";
        case Operation::barrier_of_group: return "thread_block::sync";
        case Operation::barrier_of_grid: return "grid_group::sync";
    }
    return "?";
}

const char* name_of(Rendezvous expected) {
    switch (caller_of(expected)) {
        case Caller::intrinsic: break;
        case Caller::reduce: return "cooperative_groups::reduce";
        case Caller::inclusive_scan: return "cooperative_groups::inclusive_scan";
        case Caller::exclusive_scan: return "cooperative_groups::exclusive_scan";
        case Caller::labeled_partition: return "labeled_partition";
        case Caller::binary_partition: return "binary_partition";
        case Caller::invoke_one: return "invoke_one_broadcast";
        case Caller::group:
            switch (operation_of(expected)) {
                case Operation::shfl_idx: return "group.shfl";
                case Operation::shfl_up: return "group.shfl_up";
                case Operation::shfl_down: return "group.shfl_down";
                case Operation::shfl_xor: return "group.shfl_xor";
                case Operation::syncwarp: return "group.sync";
                case Operation::ballot: return "group.ballot";
                case Operation::any: return "group.any";
                case Operation::all: return "group.all";
                case Operation::match_any: return "group.match_any";
                case Operation::match_all: return "group.match_all";
                default: break;
            }
    }
    return name_of(operation_of(expected));
}

Text& Text::add_list(const char* format, va_list arguments) {
    if (used_ < room_) {
        const int length = vsnprintf(out_ + used_, room_ - used_, format, arguments);
        if (length > 0) used_ += size_t(length);
    }
    return *this;
}

Text& Text::add(const char* format, ...) {
    va_list arguments;
    va_start(arguments, format);
    add_list(format, arguments);
    va_end(arguments);
    return *this;
}

Text& Text::add_position(const char* file, int line) {
    if (!file) return *this;
    const char* const slash = strrchr(file, '/');
    return add("%s:%d: ", slash ? slash + 1 : file, line);
}

Text& Text::add_lanes(uint32_t lanes) {
    add(__builtin_popcount(lanes) == 1 ? "lane " : "lanes ");
    const char* separator = "";
    for (unsigned first = 0; first < lanes_per_warp; ++first) {
        if (!(lanes & bit(first))) continue;
        unsigned last = first;
        while (last + 1 < lanes_per_warp && (lanes & bit(last + 1))) ++last;
        add(first == last ? "%s%u" : "%s%u-%u", separator, first, last);
        separator = ",";
        first = last;
    }
    return *this;
}

Text& Text::add_block(const Block& block) {
    return add("; block (%u,%u,%u)", block.index.x, block.index.y, block.index.z);
}

Text& Text::add_thread(const Lane& lane) {
    const uint3& t = lane.thread_index;
    add_block(*lane.block);
    return add(", thread (%u,%u,%u) [warp %u, lane %u]", t.x, t.y, t.z, lane.warp->number, lane.number);
}

void stop(Worker* worker, const char* message, Outcome outcome) {
    worker->may_escape = 0;
    Launch& launch = *worker->launch;
    if (!launch.stopped.exchange(true)) {
        std::lock_guard<std::mutex> guard(launch.mutex);
        launch.report.outcome = outcome;
        snprintf(launch.report.message, sizeof launch.report.message, "%s", message);
        launch.changed.notify_all();
    }
    siglongjmp(worker->escape, 1);
}

void stop_at(Lane* lane, const char* format, ...) {
    char message[1024];
    Text text(message, sizeof message);
    text.add_position(lane->file, lane->line);
    va_list arguments;
    va_start(arguments, format);
    text.add_list(format, arguments);
    va_end(arguments);
    text.add_thread(*lane);
    stop(block_of(lane)->worker, message);
}

void note_undefined_read(Lane* lane, uint32_t source) {
    Worker* const worker = block_of(lane)->worker;
    Launch& launch = *worker->launch;
    if (launch.undefined_reads.fetch_add(1, std::memory_order_relaxed) != 0) return;
    const Rendezvous expected = lane->warp->expects[lane->number];
    const bool named = mask_of(expected) & bit(source);
    NoEscape no_escape(worker);
    std::lock_guard<std::mutex> guard(launch.mutex);
    Text(launch.report.first_undefined_read, sizeof launch.report.first_undefined_read)
        .add_position(lane->file, lane->line)
        .add("%s: lane %u reads lane %u, which %s: the value is undefined on a GPU", name_of(expected),
             lane->number, source, named ? "has exited or is not in the block" : "is not named in the mask")
        .add_thread(*lane);
}

void violation(int line, const char* file, const char* format, ...) {
    Lane* const lane = current_lane;
    lane->line = line;
    lane->file = file;
    char message[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    stop_at(lane, "%s", message);
}

void exceeds_bounds(unsigned threads, unsigned allowed, int line, const char* file) {
    char message[1024];
    Text(message, sizeof message)
        .add_position(file, line)
        .add("a block of %u threads, but the kernel's blocks have at most %u: its __launch_bounds__", threads, allowed);
    stop(block_of(current_lane)->worker, message, Outcome::refused);
}

int print(const char* format, ...) {
    Worker* const worker = current_worker;
    NoEscape no_escape(worker);
    Launch& launch = *worker->launch;
    std::lock_guard<std::mutex> guard(launch.mutex);
    const uint64_t used = launch.report.printed_bytes;
    const uint64_t capacity = launch.request.printed_capacity;
    va_list arguments;
    va_start(arguments, format);
    const int length = vsnprintf(used < capacity ? launch.request.printed + used : nullptr,
                                 used < capacity ? capacity - used : 0, format, arguments);
    va_end(arguments);
    if (length > 0) launch.report.printed_bytes += uint64_t(length);
    return length;
}

}  // namespace simt

extern "C" void simt_assertion_failed(const char* expression, const char* file, unsigned line, const char*) noexcept {
    simt::violation(int(line), file, "assertion `%s` failed", expression);
}

extern "C" long simt_clock() noexcept {
#if defined(__x86_64__)
    return long(__builtin_ia32_rdtsc());
#elif defined(__aarch64__)
    long ticks;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
    return ticks;
#else
    return clock();
#endif
}
