#include "races.h"

#include "quick.h"

#include <string.h>

#include <algorithm>

namespace simt::checked {

namespace {

// What stays between the launches of a sequence.
struct Kept {
    std::map<uintptr_t, std::unique_ptr<Shadow>> shadows;  // by the begin of the array
    uint32_t blocks = 0;                                   // of earlier launches
};

Kept& kept() {
    static Kept* const all = new Kept();
    return *all;
}

constexpr uint32_t shared_bit = 1u << 30;
constexpr uint8_t strong = slot_atomic | slot_volatile;

uint32_t number_of(const Array& array) { return array.number | (array.space == Space::shared ? shared_bit : 0); }

}  // namespace

// What one running block needs to know.
class BlockRaces : public BlockObserver {
public:
    BlockRaces(Races& races, RunningBlock& block);

    void begins(uint32_t number) override;
    void ends() override;
    void access(const Access& access) override;
    void barrier() override;
    void warp_sync(const Warp& warp, uint32_t lanes) override;
    void team_sync(unsigned first, unsigned count) override;
    void arrives(uint32_t number, const Warp& warp, uint32_t lanes) override;
    void completes(uint32_t number, const uint32_t* waiting) override;
    void grid_barrier() override;
    void fence(const Lane& lane, Scope scope) override;
    void async_write(const Array& array, uint64_t offset, uint64_t bytes, bool done) override;
    Quick* quick() override { return &quick_; }
    void go_quickly(const Array& array, uint32_t code, uint64_t bytes) override;

private:
    friend class Races;

    // What few threads have.
    struct More {
        std::vector<Seen> known;
        std::vector<Seen> pending;          // read by atomic accesses, but no fence since then
        std::vector<uintptr_t> pending_at;  // words read by volatile accesses
        std::shared_ptr<const Clocks> all;  // what a named barrier told of the block's threads
        std::unique_ptr<Release> of_device, of_block;  // what the last fence published
    };

    uint32_t clock(uint32_t thread) const { return std::max(clocks_[thread], base_); }
    void advance(uint32_t thread);
    uint32_t* row(uint32_t thread) { return rows_[thread]; }
    More& more(uint32_t thread);
    bool has_more(uint32_t thread) const { return more_.size() > thread && more_[thread]; }

    bool is_before(const Slot& slot, uint32_t thread);
    bool conflicts(const Slot& old, const Slot& now, uint32_t thread);
    void check(Cell& cell, const Access& access, uint64_t offset, const Slot& now, uint32_t thread);
    void keep(Cell& cell, const Slot& now, uint32_t thread);
    void synchronize(const Access& access, uint32_t thread);
    Release published(uint32_t thread);
    void promote(uint32_t thread, bool in_block);
    Log* log(const Access& access, bool make);
    void compare_value();
    bool is_static(const Array& array) const;
    Shadow& shadow_of(const Array& array) const;
    void signal(const Access& access, uint32_t thread, uint32_t clock);
    Races::Reach reach(const Slot& other, uint32_t thread) const;
    Races::Passed passed(const Slot& other, uint32_t thread) const;
    Handover handover(const Slot& other, uint32_t thread, uintptr_t address);
    bool is_clean(uint32_t thread) const { return last_write_[thread] < std::max({fenced_[thread], fenced_base_, first_base_}); }

    Races& races_;
    RunningBlock& block_;
    Quick quick_;
    uint32_t& serial_ = quick_.serial;
    uint32_t& base_ = quick_.base;
    uint32_t first_base_ = 1;  // when the block began
    uint32_t top_ = 1;  // the largest clock
    uint32_t clocks_[max_threads] = {};
    uint32_t rows_[max_threads][lanes_per_warp] = {};
    std::vector<std::unique_ptr<More>> more_;
    std::vector<Seen> known_;  // by all threads of the block

    // What the threads knew that have arrived at a named barrier.
    struct Gathering {
        std::shared_ptr<Clocks> all;
        std::shared_ptr<const Clocks> joined;  // the last one that `all` has
        std::vector<Seen> known;
        bool are_clean = true;
    };
    std::vector<Gathering> gatherings_;  // by the barrier's number
    static std::shared_ptr<const Clocks> join(const std::shared_ptr<const Clocks>& one, const std::shared_ptr<const Clocks>& other);

    // Publishing by another thread than the one that has called the fence.
    bool any_fence_ = false;
    uint32_t fenced_base_ = 0;           // accesses with a smaller clock were fenced, as all know
    uint32_t next_fenced_base_ = 0;      // from the next barrier on
    uint32_t last_write_[max_threads] = {};
    uint32_t fenced_[max_threads] = {};
    uint32_t fenced_device_[max_threads] = {};  // by a fence of the device
    std::vector<Seen> fenced_known_;

    std::unique_ptr<Shadow> static_, dynamic_;
    uintptr_t touched_[2][2] = {};  // of each of the two: begin and end
    uintptr_t quick_touched_[2][2] = {{~uintptr_t(0), 0}, {~uintptr_t(0), 0}};  // what the short way may touch
    std::unique_ptr<Logs> own_logs_;  // of words in shared memory
    std::vector<std::unique_ptr<Log>> team_logs_;
    Signals* signals_ = nullptr;  // of this block, once it has some
    Races::Passed barrier_;
    struct {
        Races::Passed at;
        uint32_t lanes = 0;
    } warp_passed_[max_warps];  // since the last barrier
    bool escaped_ = false;  // other blocks may have seen entries that refer to them

    void note_look(const Access& access, uint32_t thread);
    Look looks_[max_threads];
    void note_volatile_read(const Access& access);
    std::set<std::pair<uint32_t, uint32_t>> volatile_reads_;  // that were noted: array and code

    // A write over which races were found, one for each of its words perhaps, to see whether it changes anything.
    struct {
        std::vector<Races::Key> keys;
        uintptr_t address;
        std::vector<unsigned char> before;
    } written_;
};

Races::Races(Monitor& monitor) : monitor_(monitor) {
    const LaunchRequest& launch = monitor.launch();
    const uint64_t blocks = uint64_t(launch.grid[0]) * launch.grid[1] * launch.grid[2];
    locks_ = launch.os_threads > 1 && blocks > 1 && !launch.cooperative;  // or more than needed
    Kept& all = kept();
    if (monitor.request().is_first) {
        all.shadows.clear();
        all.blocks = 0;
    }
    base_ = all.blocks;
    all.blocks += uint32_t(blocks);
    if (launch.cooperative) {
        after_grid_barrier_.assign(blocks, 0);
        blocks_.assign(blocks, nullptr);
    }
    shadows_.assign(monitor.request().array_count, nullptr);
    for (const Array& array : monitor.arrays()) {
        if (array.read_only) continue;
        auto& shadow = all.shadows[array.begin];
        if (!shadow || shadow->bytes() < array.bytes) shadow = std::make_unique<Shadow>(array.begin, array.bytes);
        shadows_[array.number] = shadow.get();
    }
}

Races::~Races() {
    if (monitor_.request().is_last) kept().shadows.clear();
}

std::unique_ptr<BlockObserver> Races::watch(RunningBlock& block) { return std::make_unique<BlockRaces>(*this, block); }

Races::Key Races::note(Kind kind, const Access& access, uint64_t offset, uint32_t block, uint32_t thread, uint8_t flags,
                       const Slot& other, BlockRaces* races) {
    const Key key(access.code, other.code, kind, number_of(*access.array));
    const std::lock_guard<std::mutex> guard(mutex_);
    Record& record = records_[key];
    const auto place = [](const Record& r) { return std::make_tuple(r.block, r.thread, r.other_block, r.other_thread, r.offset); };
    Record found;
    found.offset = offset;
    found.bytes = access.bytes;
    found.block = block;
    found.thread = thread;
    found.other_block = other.block;
    found.other_thread = other.thread;
    found.flags = flags;
    found.other_flags = other.flags;
    if (record.count == 0 || place(found) < place(record)) {
        found.count = record.count;
        found.same_value = record.same_value;
        found.reach = record.reach;
        if (races) {
            found.passed = races->passed(other, thread);
            if (access.atomic == Scope::none && !access.is_volatile) found.handover = races->handover(other, thread, access.address);
        }
        record = found;
    }
    ++record.count;
    if (races) record.reach |= races->reach(other, thread);
    is_full_ = records_.size() > monitor_.request().most;
    return key;
}

void Races::bury(std::unique_ptr<Logs> logs, std::vector<std::unique_ptr<Log>> more) {
    const std::lock_guard<std::mutex> guard(mutex_);
    buried_.push_back(std::move(logs));
    for (auto& log : more) buried_logs_.push_back(std::move(log));
}

void Races::note_same_value(const Key& key) {
    const std::lock_guard<std::mutex> guard(mutex_);
    ++records_[key].same_value;
}

void Races::report(std::string& out) {
    for (const auto& [key, r] : records_) {
        const auto& [code, other_code, kind, array] = key;
        const bool of_volatile = (r.flags & r.other_flags & slot_volatile) && r.block == r.other_block;
        if (of_volatile && volatile_reads_.is_flag(array)) continue;
        const auto is_look = [&](uint8_t flags, uint32_t at, uint8_t others) {
            return !(flags & (slot_writes | strong)) && (others & slot_atomic) && looks_.are_all_proved(at);
        };
        if (is_look(r.flags, code, r.other_flags) || is_look(r.other_flags, other_code, r.flags)) continue;
        char line[768];
        snprintf(line, sizeof line,
                 "race\t%d\t%u\t%u\t%u\t%llu\t%llu\t%llu\t%u\t%u\t%u\t%u\t%u\t%u\t%u\t%u\t%u\t%u\t%u\t%d\t%.400s\n", int(kind), code,
                 other_code, array, (unsigned long long)r.offset, (unsigned long long)r.count,
                 (unsigned long long)r.same_value, r.bytes, r.block - base_, r.thread, r.other_block - base_, r.other_thread,
                 r.flags & 0x1f, r.other_flags & 0x1f, r.reach, r.handover.missing, r.handover.write_code,
                 r.handover.read_code, r.passed.line, r.passed.file ? r.passed.file : "");
        out += line;
    }
}

BlockRaces::BlockRaces(Races& races, RunningBlock& block) : races_(races), block_(block) {
    const Worker& worker = *block.worker;
    if (worker.static_shared_bytes) {
        static_ = std::make_unique<Shadow>(reinterpret_cast<uintptr_t>(worker.static_shared), worker.static_shared_bytes);
    }
    if (const uint64_t bytes = races.monitor_.launch().dynamic_shared) {
        dynamic_ = std::make_unique<Shadow>(reinterpret_cast<uintptr_t>(block.dynamic_shared), bytes);
    }
    quick_.locks = races.locks_;
    quick_.first_serial = races.base_;
    quick_.clocks = clocks_;
    quick_.rows = rows_;
    quick_.last_write = last_write_;
    quick_.code_begin = races.monitor_.launch().code_begin;
}

void BlockRaces::begins(uint32_t number) {
    serial_ = races_.base_ + number;
    if (!races_.blocks_.empty()) races_.blocks_[number] = this;
    base_ = first_base_ = ++top_;
    more_.clear();
    known_.clear();
    quick_.is_simple = races_.after_grid_barrier_.empty() && !races_.looks_.matter;
    if (escaped_) races_.bury(std::move(own_logs_), std::move(team_logs_));
    escaped_ = false;
    if (!own_logs_ || !own_logs_->empty()) own_logs_ = std::make_unique<Logs>();
    team_logs_.clear();
    gatherings_.clear();
    any_fence_ = false;
    fenced_base_ = next_fenced_base_ = 0;
    fenced_known_.clear();
    signals_ = nullptr;
    barrier_ = {};
    for (auto& passed : warp_passed_) passed = {};
    if (static_) static_->clear(touched_[0][0], touched_[0][1]);
    if (dynamic_) dynamic_->clear(touched_[1][0], touched_[1][1]);
    memcpy(touched_, quick_touched_, sizeof touched_);
    // Rows and other clocks of an earlier block are below the base.
}

void BlockRaces::ends() {
    compare_value();
    for (uint32_t t = 0; t < block_.thread_count; ++t) {
        if (looks_[t].address) races_.looks_.note(looks_[t].code, false);
        looks_[t] = Look();
    }
    awaited_test.is_there = false;
}

void BlockRaces::note_look(const Access& access, uint32_t thread) {
    if (access.compares) {  // the short way does not note what a thread reads
        races_.looks_.matter = true;
        quick_.is_simple = false;
    }
    Look& look = looks_[thread];
    if (look.address) races_.looks_.note(look.code, access.compares && access.address == look.address);
    look.address = access.reads && !access.writes && access.atomic == Scope::none && !access.is_volatile ? access.address : 0;
    look.code = access.code;
}

// Other threads may take turns before the read itself, but do not run between it and a comparison.
void BlockRaces::note_volatile_read(const Access& access) {
    quick_.is_simple = false;  // each access that follows ends the wait for the comparison
    const uint32_t array = number_of(*access.array);
    if (volatile_reads_.emplace(array, access.code).second) races_.volatile_reads_.note(array, access.code);
    if (access.bytes > sizeof(uint64_t)) return;
    uint64_t value = 0;
    memcpy(&value, reinterpret_cast<const void*>(access.address), access.bytes);
    awaited_test = {true, &races_.volatile_reads_, access.lane, access.code, value, 8 * access.bytes};
}

void BlockRaces::advance(uint32_t thread) {
    clocks_[thread] = clock(thread) + 1;
    top_ = std::max(top_, clocks_[thread]);
}

BlockRaces::More& BlockRaces::more(uint32_t thread) {
    quick_.is_simple = false;
    if (more_.size() <= thread) more_.resize(block_.thread_count);
    if (!more_[thread]) more_[thread] = std::make_unique<More>();
    return *more_[thread];
}

bool BlockRaces::is_before(const Slot& slot, uint32_t thread) {
    if (slot.block == serial_) {
        if (slot.thread == thread || slot.clock < base_) return true;
        const bool same_warp = slot.thread / lanes_per_warp == thread / lanes_per_warp;
        if (same_warp && slot.clock < rows_[thread][slot.thread % lanes_per_warp]) return true;
    } else {
        if (slot.block < races_.base_) return true;
        const uint32_t number = slot.block - races_.base_;
        if (!races_.after_grid_barrier_.empty() && slot.clock < races_.after_grid_barrier_[number]) return true;
    }
    if (slot.block == serial_ && has_more(thread) && more_[thread]->all && slot.clock < (*more_[thread]->all)[slot.thread]) {
        return true;
    }
    const Event event{slot.block, slot.thread, slot.clock};
    if (includes(known_, event, serial_)) return true;
    return has_more(thread) && includes(more_[thread]->known, event, serial_);
}

// Whether two accesses that nothing orders are a race.
bool BlockRaces::conflicts(const Slot& old, const Slot& now, uint32_t thread) {
    if (!(old.mask & now.mask) || !((old.flags | now.flags) & slot_writes)) return false;
    if ((old.flags & strong) && (now.flags & strong)) {
        const bool same_block = old.block == serial_;
        if ((old.flags & slot_atomic) || (now.flags & slot_atomic)) {
            if (same_block || !((old.flags | now.flags) & slot_in_block)) return false;
        } else {  // both volatile: a flag, if the writer has called a fence; else code that trusts in its warp
            const bool same_warp = same_block && old.thread / lanes_per_warp == thread / lanes_per_warp;
            const uint8_t writers = (old.flags & slot_writes ? old.flags : 0) | (now.flags & slot_writes ? now.flags : 0);
            if (!same_block || (!same_warp && (writers & slot_fenced))) return false;
        }
    }
    return !is_before(old, thread);
}

void BlockRaces::check(Cell& cell, const Access& access, uint64_t offset, const Slot& now, uint32_t thread) {
    if (access.reads && !access.array->has_content) {
        const uint8_t missing = uint8_t(now.mask & ~cell.written());
        if (missing) {
            Slot nobody = {};
            const bool is_copied = cell.is_copied();
            for (const Slot& old : cell.slot) {  // by whom
                if (is_copied && (old.mask & missing) && (old.flags & slot_writes)) nobody = old;
            }
            races_.note(is_copied ? Races::Kind::unwaited : Races::Kind::unwritten, access, offset + unsigned(__builtin_ctz(missing)) -
                        unsigned(__builtin_ctz(now.mask)), serial_, thread, now.flags, nobody);
        }
    }
    for (const Slot& old : cell.slot) {
        if (!old.mask || (old.block == serial_ && old.thread == thread)) continue;
        if (!conflicts(old, now, thread)) continue;
        const bool was_write = old.flags & slot_writes;
        const Races::Kind kind = !access.writes ? Races::Kind::read_write
                                 : was_write    ? Races::Kind::write_write
                                                : Races::Kind::write_read;
        const Races::Key key = races_.note(kind, access, offset, serial_, thread, now.flags, old, this);
        if (kind == Races::Kind::write_write && !(now.flags & slot_atomic)) {
            if (!quick_.is_waiting) {
                const auto* const at = reinterpret_cast<const unsigned char*>(access.address);
                written_.keys.clear();
                written_.address = access.address;
                written_.before.assign(at, at + access.bytes);
            }
            quick_.is_waiting = true;
            written_.keys.push_back(key);
        }
        break;
    }
}

// A write takes the place of what it covers. Of reads, and of atomic writes, those stay that tell most: of other warps
// and blocks than this one.
void BlockRaces::keep(Cell& cell, const Slot& now, uint32_t thread) {
    const bool replaces_all = (now.flags & slot_writes) && !(now.flags & (slot_atomic | slot_volatile));
    int place = -1, free = -1, same_warp = -1, same_block = -1, other = -1;
    for (int i = 0; i < int(Cell::slots); ++i) {
        Slot& old = cell.slot[i];
        if (!old.mask) {
            if (free < 0) free = i;
            continue;
        }
        const bool covered = !(old.mask & ~now.mask);
        const bool is_mine = old.block == serial_ && old.thread == thread;
        const bool as_strong = (now.flags & slot_writes) || !(old.flags & slot_writes);
        // Whoever changes a word atomically has seen what earlier changes left there: of these the last one is enough.
        const bool is_later = (now.flags & slot_changes) && (old.flags & slot_changes) &&
                              (old.block == serial_ || !((old.flags | now.flags) & slot_in_block));
        if (covered && (replaces_all || is_later || (as_strong && is_mine && old.flags == now.flags))) {
            if (place < 0) {
                place = i;
            } else {
                cell.put(unsigned(i), Slot{});
            }
            continue;
        }
        if (covered && as_strong && (is_mine || is_before(old, thread)) &&
            !((now.flags & strong) && !(old.flags & strong))) {
            if (place < 0) {
                place = i;
            } else {  // such as the look of a compare-and-swap that failed before this one
                cell.put(unsigned(i), Slot{});
            }
            continue;
        }
        const bool is_plain_write = (old.flags & slot_writes) && !(old.flags & strong);
        if (is_plain_write && ((now.flags & strong) || !(now.flags & slot_writes))) continue;
        if ((old.flags & slot_writes) && !(now.flags & slot_writes)) continue;  // a read takes no write's place
        if (old.block == serial_ && old.thread / lanes_per_warp == thread / lanes_per_warp) {
            same_warp = i;
        } else if (old.block == serial_) {
            same_block = i;
        } else {
            other = i;
        }
    }
    for (int candidate : {free, same_warp, same_block, other}) {
        if (place < 0) place = candidate;
    }
    if (place < 0 && !(now.flags & slot_writes)) return;
    if (place < 0) place = int(now.clock + thread) % int(Cell::slots);
    cell.put(unsigned(place), now);
}

void BlockRaces::access(const Access& access) {
    compare_value();
    awaited_test.is_there = false;
    const Array& array = *access.array;
    if (array.read_only) return;
    if (access.is_volatile && access.reads) note_volatile_read(access);
    const Lane& lane = *access.lane;
    const uint32_t thread = uint32_t(&lane - block_.lanes);
    note_look(access, thread);
    const bool is_shared = array.space == Space::shared;
    if (access.atomic != Scope::none || access.is_volatile) {
        const uint32_t before = clock(thread);
        synchronize(access, thread);
        signal(access, thread, before);
    }
    Slot now = {};
    now.block = serial_;
    now.clock = clock(thread);
    now.code = access.code;
    now.thread = uint16_t(thread);
    if (access.writes) now.flags |= slot_writes;
    if (access.atomic != Scope::none) now.flags |= slot_atomic;
    if (access.atomic == Scope::block) now.flags |= slot_in_block;
    if (access.changes && access.writes) now.flags |= slot_changes;
    if (access.is_volatile) now.flags |= slot_volatile;
    if (any_fence_ && fenced_[thread] >= base_) now.flags |= slot_fenced;
    if (access.writes && !is_shared) last_write_[thread] = now.clock;
    if (is_shared) {
        uintptr_t(&touched)[2] = touched_[!is_static(array)];
        touched[0] = std::min(touched[0], access.address);
        touched[1] = std::max(touched[1], access.address + access.bytes);
    }
    Shadow* const shadow = &shadow_of(array);
    const bool locks = races_.locks_ && !is_shared;
    const uintptr_t end = access.address + access.bytes;
    for (uintptr_t at = access.address; at < end;) {
        const uintptr_t next = std::min(end, (at / word_bytes + 1) * word_bytes);
        now.mask = uint8_t(((1u << (next - at)) - 1) << at % word_bytes);
        Cell& cell = shadow->cell(at);
        if (locks) cell.lock();
        cell.set_speaks(false);
        check(cell, access, access.offset + (at - access.address), now, thread);
        keep(cell, now, thread);
        if (access.writes) cell.set_written(cell.written() | now.mask);
        if (locks) cell.unlock();
        at = next;
    }
    if (__builtin_expect(races_.is_full_, 0)) races_.monitor_.end(block_.worker, "");
}

// An atomic or volatile access may tell others that data is there.
void BlockRaces::signal(const Access& access, uint32_t thread, uint32_t clock) {
    if (!signals_) signals_ = races_.handovers_.of_block(serial_);
    if (!signals_) return;
    Signal made;
    made.address = access.address;
    made.tick = races_.handovers_.tick();
    made.code = access.code;
    made.thread = thread;
    made.clock = clock;
    made.base = base_;
    made.fenced_device = fenced_device_[thread];
    made.fenced_block = fenced_[thread];
    made.fenced_all = fenced_base_;
    made.in_block = access.atomic == Scope::block;
    made.orders = access.writes ? access.releases : access.acquires;
    if (access.reads) {
        Signal read = made;
        read.orders = access.acquires;
        signals_->note(read, true, false);
    }
    if (access.writes) signals_->note(made, false, true);
}

Races::Reach BlockRaces::reach(const Slot& other, uint32_t thread) const {
    if (other.block != serial_) return Races::between_blocks;
    return other.thread / lanes_per_warp == thread / lanes_per_warp ? Races::within_warp : Races::within_block;
}

Races::Passed BlockRaces::passed(const Slot& other, uint32_t thread) const {
    if (other.block != serial_) return {};
    const uint32_t warp = thread / lanes_per_warp;
    const uint32_t both = bit(thread % lanes_per_warp) | bit(other.thread % lanes_per_warp);
    if (other.thread / lanes_per_warp == warp && (warp_passed_[warp].lanes & both) == both) return warp_passed_[warp].at;
    return barrier_;
}

Handover BlockRaces::handover(const Slot& other, uint32_t thread, uintptr_t address) {
    if ((other.flags & strong) || !signals_) return {};
    return races_.handovers_.between({other.block, other.thread, other.clock},
                                     {serial_, thread, base_, fenced_device_[thread], fenced_[thread]}, address);
}

bool BlockRaces::is_static(const Array& array) const {
    return static_ && array.origin == reinterpret_cast<uintptr_t>(block_.worker->static_shared);
}

Shadow& BlockRaces::shadow_of(const Array& array) const {
    if (array.space != Space::shared) return *races_.shadows_[array.number];
    return is_static(array) ? *static_ : *dynamic_;
}

void BlockRaces::go_quickly(const Array& array, uint32_t code, uint64_t bytes) {
    if (array.constant && !array.read_only) return;
    Quick::Known& known = quick_.of_code(code);
    known.begin = array.begin;
    known.limit = array.bytes - bytes + 1;
    known.is_free = array.read_only;
    known.cells = array.read_only ? 0 : shadow_of(array).origin();
    known.has_content = array.has_content;
    known.is_shared = array.space == Space::shared;
    if (!known.is_shared) return;
    for (auto* touched : {&quick_touched_[!is_static(array)], &touched_[!is_static(array)]}) {
        (*touched)[0] = std::min((*touched)[0], array.begin);
        (*touched)[1] = std::max<uintptr_t>((*touched)[1], array.begin + array.bytes);
    }
}

void BlockRaces::compare_value() {
    if (!quick_.is_waiting) return;
    quick_.is_waiting = false;
    if (memcmp(written_.before.data(), reinterpret_cast<const void*>(written_.address), written_.before.size())) return;
    for (const Races::Key& key : written_.keys) races_.note_same_value(key);
}

Log* BlockRaces::log(const Access& access, bool make) {
    const bool is_shared = access.array->space == Space::shared;
    return (is_shared ? *own_logs_ : races_.logs_).find(access.address, make, is_shared);
}

// What the current thread knows, to be published now.
Release BlockRaces::published(uint32_t thread) {
    Release made;
    made.block = serial_;
    made.thread = thread;
    made.base = base_;
    made.clock = clock(thread) + 1;
    const uint32_t* const mine = rows_[thread];
    if (std::any_of(mine, mine + lanes_per_warp, [this](uint32_t c) { return c > base_; })) {
        made.lanes.assign(mine, mine + lanes_per_warp);
    }
    made.seen = known_;
    if (has_more(thread)) {
        add(made.seen, more_[thread]->known);
        made.all = more_[thread]->all;
    }
    return made;
}

// Acquires and releases through a word in memory.
void BlockRaces::synchronize(const Access& access, uint32_t thread) {
    const Scope scope = access.atomic == Scope::none ? Scope::device : access.atomic;
    if (access.reads) {
        if (Log* const found = log(access, false)) {
            Seen seen{found, 0, 0, scope == Scope::block};
            {
                const std::lock_guard<std::mutex> guard(found->mutex);
                seen.from = found->start;
                seen.to = uint32_t(found->entries.size());
            }
            if (seen.from < seen.to) add(access.acquires ? more(thread).known : more(thread).pending, seen);
        }
        if (access.is_volatile && races_.locks_ && access.array->space != Space::shared) {
            auto& at = more(thread).pending_at;
            if (std::find(at.begin(), at.end(), access.address) == at.end()) at.push_back(access.address);
        }
    }
    if (!access.writes) return;
    const bool replaces = !access.reads;
    bool any = false;
    const auto release = [&](Release&& made, bool in_block) {
        made.in_block = in_block;
        if (access.array->space != Space::shared) {
            for (const Seen& seen : made.seen) escaped_ |= seen.log->of_shared;
        }
        publish(*log(access, true), std::move(made), replaces && !any);
        any = true;
    };
    if (access.releases) {
        Release made = published(thread);
        advance(thread);
        release(std::move(made), scope == Scope::block);
        return;
    }
    if (any_fence_) {
        if (has_more(thread)) {
            const More& mine = *more_[thread];
            if (mine.of_device) release(Release(*mine.of_device), scope == Scope::block);
            if (mine.of_block && (!mine.of_device || mine.of_block->clock > mine.of_device->clock)) {
                release(Release(*mine.of_block), true);
            }
        }
        if (fenced_base_) {  // fenced by others, before a barrier
            Release made;
            made.block = serial_;
            made.thread = thread;
            made.base = fenced_base_;
            made.clock = 0;
            made.seen = fenced_known_;
            release(std::move(made), scope == Scope::block);
        }
    }
    if (!any && replaces) {
        if (Log* const found = log(access, false)) {
            const std::lock_guard<std::mutex> guard(found->mutex);
            found->start = uint32_t(found->entries.size());
        }
    }
}

// What was read by atomic accesses counts from now on.
void BlockRaces::promote(uint32_t thread, bool in_block) {
    if (!has_more(thread)) return;
    More& mine = *more_[thread];
    for (uintptr_t at : mine.pending_at) {
        Log* const found = races_.logs_.find(at, false);
        if (!found) continue;
        const std::lock_guard<std::mutex> guard(found->mutex);
        if (found->start < found->entries.size()) {
            add(mine.pending, Seen{found, found->start, uint32_t(found->entries.size()), false});
        }
    }
    for (Seen seen : mine.pending) {
        seen.in_block |= in_block;
        add(mine.known, seen);
    }
    if (in_block) return;  // a fence of the device may come later
    mine.pending.clear();
    mine.pending_at.clear();
}

void BlockRaces::fence(const Lane& lane, Scope scope) {
    compare_value();
    const uint32_t thread = uint32_t(&lane - block_.lanes);
    any_fence_ = true;
    promote(thread, scope == Scope::block);
    More& mine = more(thread);
    Release made = published(thread);
    advance(thread);
    fenced_[thread] = clock(thread);
    if (scope == Scope::device) fenced_device_[thread] = clock(thread);
    if (scope == Scope::device) {
        next_fenced_base_ = std::max(next_fenced_base_, base_);
        mine.of_device = std::make_unique<Release>(made);
    }
    mine.of_block = std::make_unique<Release>(std::move(made));
}

void BlockRaces::barrier() {
    compare_value();
    for (uint32_t t = 0; t < more_.size(); ++t) {
        if (!more_[t]) continue;
        promote(t, false);
        add(known_, more_[t]->known);
        more_[t]->known.clear();
        more_[t]->all = nullptr;  // the base says more
    }
    if (any_fence_) {
        fenced_base_ = std::max(fenced_base_, next_fenced_base_);
        bool all_clean = true;
        for (uint32_t t = 0; t < block_.thread_count; ++t) all_clean &= is_clean(t);
        if (all_clean) {
            fenced_base_ = top_ + 1;
            fenced_known_ = known_;
        }
    }
    base_ = ++top_;
    barrier_ = {block_.gathering.file, block_.gathering.line};
    for (auto& passed : warp_passed_) passed = {};
}

void BlockRaces::warp_sync(const Warp& warp, uint32_t lanes) {
    compare_value();
    const uint32_t first = warp.number * lanes_per_warp;
    const Lane& one = warp.lanes[__builtin_ctz(lanes)];
    warp_passed_[warp.number] = {{one.file, one.line}, lanes};
    uint32_t joined[lanes_per_warp] = {};
    std::vector<Seen> known;
    std::shared_ptr<const Clocks> all;
    bool all_clean = any_fence_;
    for (uint32_t rest = lanes; rest; rest &= rest - 1) {
        const unsigned i = unsigned(__builtin_ctz(rest));
        uint32_t* const mine = rows_[first + i];
        mine[i] = clock(first + i) + 1;
        for (unsigned k = 0; k < lanes_per_warp; ++k) joined[k] = std::max(joined[k], mine[k]);
        if (any_fence_) all_clean &= is_clean(first + i);
        if (!has_more(first + i)) continue;
        promote(first + i, false);
        add(known, more_[first + i]->known);
        all = join(all, more_[first + i]->all);
    }
    for (uint32_t rest = lanes; rest; rest &= rest - 1) {
        const unsigned i = unsigned(__builtin_ctz(rest));
        memcpy(rows_[first + i], joined, sizeof joined);
        if (!known.empty()) more(first + i).known = known;
        if (all) more(first + i).all = all;
        if (all_clean) more(first + i).of_device = std::make_unique<Release>(published(first + i));
        advance(first + i);
    }
}

void BlockRaces::team_sync(unsigned first, unsigned count) {
    compare_value();
    team_logs_.push_back(std::make_unique<Log>());
    Log& log = *team_logs_.back();
    log.of_shared = true;
    for (unsigned t = first; t < first + count; ++t) {
        promote(t, false);
        publish(log, published(t), false);
        advance(t);
    }
    const Seen all{&log, 0, uint32_t(log.entries.size()), false};
    for (unsigned t = first; t < first + count; ++t) add(more(t).known, all);
}

std::shared_ptr<const Clocks> BlockRaces::join(const std::shared_ptr<const Clocks>& one,
                                               const std::shared_ptr<const Clocks>& other) {
    if (!other || one == other) return one;
    if (!one) return other;
    auto both = std::make_shared<Clocks>(*one);
    for (size_t t = 0; t < both->size(); ++t) (*both)[t] = std::max((*both)[t], (*other)[t]);
    return both;
}

// All that the lanes have done and know is told to those that wait.
void BlockRaces::arrives(uint32_t number, const Warp& warp, uint32_t lanes) {
    compare_value();
    if (gatherings_.size() <= number) gatherings_.resize(number + 1);
    Gathering& to = gatherings_[number];
    if (!to.all) to.all = std::make_shared<Clocks>(block_.thread_count);
    const uint32_t first = warp.number * lanes_per_warp;
    for (uint32_t rest = lanes; rest; rest &= rest - 1) {
        const uint32_t thread = first + uint32_t(__builtin_ctz(rest));
        if (any_fence_) to.are_clean &= is_clean(thread);
        if (has_more(thread)) {
            promote(thread, false);
            const More& mine = *more_[thread];
            add(to.known, mine.known);
            if (mine.all && mine.all != to.joined) {
                for (size_t t = 0; t < to.all->size(); ++t) (*to.all)[t] = std::max((*to.all)[t], (*mine.all)[t]);
                to.joined = mine.all;
            }
        }
        for (uint32_t k = 0; k < lanes_per_warp && first + k < block_.thread_count; ++k) {
            (*to.all)[first + k] = std::max((*to.all)[first + k], rows_[thread][k]);
        }
        (*to.all)[thread] = clock(thread) + 1;
        advance(thread);
    }
}

void BlockRaces::completes(uint32_t number, const uint32_t* waiting) {
    const Gathering from = std::move(gatherings_[number]);
    gatherings_[number] = Gathering();
    std::map<std::shared_ptr<const Clocks>, std::shared_ptr<const Clocks>> joined;  // by what a thread knew before
    for (unsigned w = 0; w < block_.warp_count; ++w) {
        for (uint32_t rest = waiting[w]; rest; rest &= rest - 1) {
            const uint32_t thread = w * lanes_per_warp + uint32_t(__builtin_ctz(rest));
            More& mine = more(thread);
            auto& all = joined[mine.all];
            if (!all) all = join(from.all, mine.all);
            mine.all = all;
            add(mine.known, from.known);
            if (any_fence_ && from.are_clean) mine.of_device = std::make_unique<Release>(published(thread));
        }
    }
}

void BlockRaces::grid_barrier() {
    for (size_t n = 0; n < races_.blocks_.size(); ++n) {
        if (races_.blocks_[n]) races_.after_grid_barrier_[n] = races_.blocks_[n]->base_;
    }
}

void BlockRaces::async_write(const Array& array, uint64_t offset, uint64_t bytes, bool done) {
    if (array.space != Space::shared) return;
    Shadow& shadow = shadow_of(array);
    for (uintptr_t at = array.begin + offset, end = at + bytes; at < end; ++at) {
        Cell& cell = shadow.cell(at);
        const uint8_t byte = uint8_t(1u << at % word_bytes);
        cell.set_written(done ? cell.written() | byte : cell.written() & ~byte);
        cell.set_copied(!done);
        cell.set_speaks(false);
    }
}

}  // namespace simt::checked
