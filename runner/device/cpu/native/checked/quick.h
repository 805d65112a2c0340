// The short way of a plain access that races with nothing: most accesses. It decides and remembers as BlockRaces does,
// but where only the block's barriers and the warp's synchronizations order accesses. Whatever is not that simple goes
// the long way.
#pragma once

#include "monitor.h"
#include "shadow.h"

namespace simt::checked {

// What BlockRaces lends for it.
struct Quick {
    bool is_simple = false;   // no thread of the block knows anything by a fence, a release or an acquire
    bool is_waiting = false;  // something is to be done at the next access
    bool locks = false;       // cells of global memory
    uint32_t serial = 0;      // of the block
    uint32_t base = 1;
    uint32_t first_serial = 0;  // blocks with a smaller one are of earlier launches
    const uint32_t* clocks = nullptr;
    const uint32_t (*rows)[lanes_per_warp] = nullptr;
    uint32_t* last_write = nullptr;
    uint64_t code_begin = 0;

    // Where an instruction accessed memory last, which is mostly the array that it accesses next.
    struct Known {
        uintptr_t begin = 0;
        uint64_t limit = 0;   // offsets of accesses are below; 0: nothing is known
        uintptr_t cells = 0;  // the cell of word 0 of the address space
        bool is_free = false;  // nothing is remembered of reads, and nobody writes
        bool has_content = false;
        bool is_shared = false;
    };
    static constexpr unsigned remembered = 256;
    Known known[remembered];
    Known& of_code(uint32_t code) { return known[code / 4 % remembered]; }
};

// Between two barriers a word of a tile is read by many threads and written by none. Slots 1 and 2 then speak for all
// reads that follow: whoever writes the word later, without a barrier, is another thread than one of the two, or of
// another warp, and is found by that one. So a further read is only remembered as the last one, in slot 3, and nothing
// else is compared.
//
// They speak for threads that passed the barrier last, as they did themselves: for their own warp, and if they are of
// two warps for the whole block.
inline bool is_represented(const Quick& q, const Cell& cell, uint32_t thread, uint32_t clock) {
    const Slot &one = cell.slot[1], &two = cell.slot[2];
    return cell.speaks() && clock == q.base && two.block == q.serial && two.clock == clock &&
           ((one.thread ^ two.thread) >= lanes_per_warp || (two.thread ^ thread) < lanes_per_warp);
}

// Whether slots 1 and 2 may speak for others: no write is unordered with them, and slot 3 may be overwritten.
inline bool may_speak(const Quick& q, const Cell& cell, bool has_content) {
    constexpr uint8_t whole_word = (1 << word_bytes) - 1;
    const Slot &one = cell.slot[1], &two = cell.slot[2], &last = cell.slot[3];
    const auto speaks = [&](const Slot& slot) {
        return slot.block == q.serial && slot.clock == q.base && slot.mask == whole_word && !(slot.flags & slot_kinds);
    };
    if (!speaks(one) || !speaks(two) || one.thread == two.thread) return false;
    const auto was_before = [&](const Slot& slot) {  // for each thread of the block
        return slot.block == q.serial ? slot.clock < q.base : slot.block < q.first_serial;
    };
    if (cell.slot[0].mask && (cell.slot[0].flags & slot_kinds) && !was_before(cell.slot[0])) return false;
    if (!has_content && cell.written() != whole_word) return false;
    const bool two_warps = (one.thread ^ two.thread) >= lanes_per_warp;
    const bool is_covered =
        was_before(last) || (last.block == q.serial && (two_warps || (last.thread ^ two.thread) < lanes_per_warp));
    return !last.mask || (!(last.flags & slot_kinds) && is_covered);
}

// An access to one word. False: it is not that simple, and nothing has changed.
template <bool writes>
__attribute__((noinline)) bool compare_word(const Quick& q, Cell& cell, uint32_t thread, uint32_t clock, uint32_t code,
                                            unsigned mask, bool has_content) {
    if (!writes && !has_content && (mask & ~cell.written())) return false;
    const uint32_t serial = q.serial, base = q.base;
    const Slot now{serial, clock, code, uint16_t(thread), uint8_t(mask), uint8_t(writes ? slot_writes : 0)};
    int place = -1, free = -1, same_warp = -1, same_block = -1, other = -1;
    unsigned covered_too = 0;
#pragma GCC unroll 4
    for (int i = 0; i < int(Cell::slots); ++i) {
        const Slot& old = cell.slot[i];
        if (!old.mask) {
            if (free < 0) free = i;
            continue;
        }
        const bool old_writes = old.flags & slot_writes;
        const bool in_block = old.block == serial;
        const bool in_warp = in_block && (old.thread ^ thread) < lanes_per_warp;
        const bool is_mine = in_block && old.thread == thread;
        const bool is_before = in_block ? old.clock < base || is_mine ||
                                              (in_warp && old.clock < q.rows[thread][old.thread % lanes_per_warp])
                                        : old.block < q.first_serial;
        if (!is_before && (writes || old_writes) && (old.mask & mask)) return false;
        if (!writes && old_writes) continue;  // a read takes no write's place
        if (!(old.mask & ~mask) && (writes || is_before)) {
            if (place < 0) {
                place = i;
            } else if (writes || (is_mine && !(old.flags & slot_kinds))) {
                covered_too |= 1u << i;
            }
            continue;
        }
        (in_warp ? same_warp : in_block ? same_block : other) = i;
    }
    if (place < 0) place = free;
    if (place < 0) place = same_warp;
    if (place < 0) place = same_block;
    if (place < 0) place = other;
    if (place < 0) {
        if (!writes) return true;
        place = int(clock + thread) % int(Cell::slots);
    }
    if (__builtin_expect(covered_too, 0)) {
        for (unsigned i = 0; i < Cell::slots; ++i) {
            if (covered_too >> i & 1) cell.put(i, Slot{});
        }
    }
    if (writes) {
        cell.put(unsigned(place), now);
        cell.set_written(uint8_t(cell.written() | mask));
        cell.set_speaks(false);
        return true;
    }
    // Two reads of one warp make room for one of another warp.
    if (cell.speaks() && clock == base && cell.slot[2].block == serial && cell.slot[2].clock == clock) place = 2;
    cell.put(unsigned(place), now);
    cell.set_speaks(may_speak(q, cell, has_content));
    return true;
}

template <bool writes>
inline __attribute__((always_inline)) bool quick_word(const Quick& q, Cell& cell, uint32_t thread, uint32_t clock,
                                                      uint32_t code, unsigned mask, bool has_content) {
    if (!writes && is_represented(q, cell, thread, clock)) {
        cell.put(3, Slot{q.serial, clock, code, uint16_t(thread), uint8_t(mask), 0});
        return true;
    }
    return compare_word<writes>(q, cell, thread, clock, code, mask, has_content);
}

// The same while other OS threads may access the word, too.
template <bool writes>
__attribute__((noinline)) bool quick_locked_word(const Quick& q, Worker* worker, Cell& cell, uint32_t thread, uint32_t clock,
                                                 uint32_t code, unsigned mask, bool has_content) {
    const NoEscape no_escape(worker);
    cell.lock();
    const bool is_done = quick_word<writes>(q, cell, thread, clock, code, mask, has_content);
    cell.unlock();
    return is_done;
}

// A plain access of so many bytes. False: it must go the long way, from its beginning.
template <bool writes, unsigned bytes, bool is_aligned>
inline __attribute__((always_inline)) bool quick(uintptr_t address, const void* from) {
    Lane* const lane = current_lane;
    if (__builtin_expect(!lane || !lane->block, 0)) return false;
    RunningBlock* const block = block_of(lane);
    if (__builtin_expect(!block->quick, 0)) return false;
    Quick& q = *block->quick;
    const uint32_t code = uint32_t(reinterpret_cast<uintptr_t>(from) - 1 - q.code_begin);
    const Quick::Known& known = q.of_code(code);
    if (__builtin_expect(address - known.begin >= known.limit, 0)) return false;
    if (is_aligned && __builtin_expect(address % bytes, 0)) return false;
    if (known.is_free) return !writes;
    if (__builtin_expect(!q.is_simple | q.is_waiting, 0)) return false;
    const uint32_t thread = uint32_t(lane - block->lanes);
    const uint32_t clock = std::max(q.clocks[thread], q.base);
    if (writes && !known.is_shared) q.last_write[thread] = clock;
    const auto word = [&](uintptr_t at, unsigned mask) __attribute__((always_inline)) {
        Cell& cell = *reinterpret_cast<Cell*>(known.cells + at / word_bytes * sizeof(Cell));
        if (__builtin_expect(q.locks & !known.is_shared, 0)) {
            return quick_locked_word<writes>(q, block->worker, cell, thread, clock, code, mask, known.has_content);
        }
        return quick_word<writes>(q, cell, thread, clock, code, mask, known.has_content);
    };
    if constexpr (is_aligned && bytes <= word_bytes) {
        return word(address, ((1u << bytes) - 1) << address % word_bytes);
    } else {
        const uintptr_t end = address + bytes;
        for (uintptr_t at = address; at < end;) {
            const uintptr_t next = std::min(end, (at / word_bytes + 1) * word_bytes);
            if (!word(at, ((1u << (next - at)) - 1) << at % word_bytes)) return false;
            at = next;
        }
        return true;
    }
}

}  // namespace simt::checked
