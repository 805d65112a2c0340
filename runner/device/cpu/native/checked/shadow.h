// What is remembered of each word of memory: up to four accesses, and which bytes were written.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "access.h"

namespace simt::checked {

constexpr uint64_t word_bytes = 4;

struct Slot {
    uint32_t block;
    uint32_t clock;
    uint32_t code;
    uint16_t thread;
    uint8_t mask;   // of the word's bytes; 0: the slot is free
    uint8_t flags;
};
constexpr uint8_t slot_writes = 1, slot_atomic = 2, slot_in_block = 4, slot_volatile = 8, slot_fenced = 16,
                  slot_changes = 32;  // an atomic read-modify-write
constexpr uint8_t slot_kinds = 0x3f;  // all of these; the upper bits of `flags` are the cell's

struct Cell {
    static constexpr unsigned slots = 4;
    Slot slot[slots];  // the upper bits of `flags` hold what follows, so that a cell has 64 bytes

    // Bytes that were written: two bits in each of two slots.
    uint8_t written() const { return uint8_t(slot[0].flags >> 6 | (slot[1].flags >> 6) << 2); }
    void set_written(uint8_t bytes) {
        slot[0].flags = uint8_t((slot[0].flags & slot_kinds) | (bytes & 3) << 6);
        slot[1].flags = uint8_t((slot[1].flags & slot_kinds) | (bytes >> 2) << 6);
    }
    // An asynchronous copy is to write to it.
    bool is_copied() const { return slot[3].flags & 0x40; }
    void set_copied(bool is) { slot[3].flags = uint8_t((slot[3].flags & ~0x40) | (is ? 0x40 : 0)); }
    // Slots 1 and 2 hold reads that speak for others (see `may_speak` in quick.h). Any write, and any access that goes
    // the long way, ends it.
    bool speaks() const { return slot[2].flags & 0x40; }
    void set_speaks(bool do_they) { slot[2].flags = uint8_t((slot[2].flags & ~0x40) | (do_they ? 0x40 : 0)); }
    void put(unsigned number, const Slot& made) {
        const uint8_t kept = slot[number].flags & ~slot_kinds;
        slot[number] = made;
        slot[number].flags |= kept;
    }
    void lock();
    void unlock();
};
static_assert(sizeof(Cell) == 64, "16 bytes for each byte of an array");

// The cells of a stretch of memory. Pages come into being when they are touched.
class Shadow {
public:
    Shadow(uintptr_t begin, uint64_t bytes);
    ~Shadow();
    Shadow(const Shadow&) = delete;
    Shadow& operator=(const Shadow&) = delete;

    Cell& cell(uintptr_t address) { return cells_[address / word_bytes - first_]; }
    // The cell of word 0 of the address space.
    uintptr_t origin() const { return reinterpret_cast<uintptr_t>(cells_) - first_ * sizeof(Cell); }
    void clear(uintptr_t begin, uintptr_t end);  // as new
    uint64_t bytes() const { return bytes_; }

private:
    uintptr_t first_;  // word
    uint64_t bytes_;   // of memory that is shadowed
    size_t size_;
    Cell* cells_;
};

}  // namespace simt::checked
