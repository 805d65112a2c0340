#include "line_costs.h"

#include <stdio.h>

#include <algorithm>
#include <unordered_map>

namespace simt::checked {

namespace {

constexpr unsigned most_requests = 1024;   // of a warp at an instruction in a block, whose addresses are kept
constexpr unsigned most_branches = 16384;  // the same of a branch
constexpr unsigned bank_count = 32, word = 4, sector = 32, row = bank_count * word;  // bytes

struct BranchTurn {  // one execution of a branch by a warp
    uint32_t next = 0;
    uint32_t lanes = 0;
    bool diverged = false;
};

// What the warps of a running block did at one instruction.
struct InBlock {
    std::vector<Request> requests[max_warps];
    std::vector<BranchTurn> turns[max_warps];
    uint32_t executed[max_threads] = {};  // by each thread
    uint64_t begin = 0;                   // of the array that was accessed first, as addresses in requests
};

// Passes over the banks, one for each different word of the fullest bank.
uint64_t passes(const Request& request, unsigned first, unsigned end) {
    std::vector<uint64_t> words[bank_count];
    uint64_t most = 0;
    for (unsigned lane = first; lane < end; ++lane) {
        if (!(request.lanes & bit(lane))) continue;
        const uint64_t last = (request.address[lane] + request.bytes - 1) / word;
        for (uint64_t at = request.address[lane] / word; at <= last; ++at) {
            auto& bank = words[at % bank_count];
            if (std::find(bank.begin(), bank.end(), at) == bank.end()) bank.push_back(at);
            most = std::max<uint64_t>(most, bank.size());
        }
    }
    return most;
}

bool equal_neighbours(const Request& request, unsigned apart) {
    for (unsigned lane = 0; lane < lanes_per_warp; ++lane) {
        if (request.address[lane] != request.address[lane ^ apart]) return false;
    }
    return true;
}

unsigned thread_of(const Lane& lane) { return lane.warp->number * lanes_per_warp + lane.number; }

}  // namespace

Units wavefronts(const Request& request) {
    unsigned part = std::max(1u, std::min(lanes_per_warp, row / std::max(request.bytes, word)));
    const bool whole = request.lanes == all_lanes && request.bytes <= 2 * word;
    if (whole && (equal_neighbours(request, 1) || equal_neighbours(request, 2))) part = lanes_per_warp;
    Units found{0, 0};
    for (unsigned first = 0; first < lanes_per_warp; first += part) {
        const uint64_t here = passes(request, first, std::min(first + part, lanes_per_warp));
        found.actual += here;
        found.ideal += here > 0;
    }
    return found;
}

Units sectors(const Request& request) {
    uint64_t begins[lanes_per_warp];
    unsigned count = 0;
    for (unsigned lane = 0; lane < lanes_per_warp; ++lane) {
        if (request.lanes & bit(lane)) begins[count++] = request.address[lane];
    }
    std::sort(begins, begins + count);
    uint64_t moved = 0, wanted = 0, next = 0, behind = 0;  // the first sector, and byte, that is not counted yet
    for (unsigned i = 0; i < count; ++i) {
        const uint64_t begin = begins[i], end = begin + request.bytes, last = (end - 1) / sector;
        const uint64_t first = std::max(begin / sector, next);
        if (last >= first) moved += last - first + 1, next = last + 1;
        if (end > behind) wanted += end - std::max(begin, behind), behind = end;
    }
    return {moved, (wanted + sector - 1) / sector};
}

namespace {

class BlockCosts : public BlockObserver {
public:
    explicit BlockCosts(LineCosts& costs) : costs_(costs) {}

    void begins(uint32_t) override {
        instructions_.clear();
        std::fill(comparison_, comparison_ + max_threads, 0);
    }

    void access(const Access& access) override {
        const Array& array = *access.array;
        if (array.constant) return;
        const Traffic traffic = access.changes ? Traffic::atomic : access.writes ? Traffic::store : Traffic::load;
        const Space space = array.space == Space::shared ? Space::shared : Space::global;
        InBlock& block = instructions_[{access.code, space, traffic}];
        const Lane& lane = *access.lane;
        const uint32_t turn = block.executed[thread_of(lane)]++;
        if (turn >= most_requests) return;
        auto& requests = block.requests[lane.warp->number];
        if (requests.size() <= turn) requests.resize(turn + 1);
        Request& request = requests[turn];
        request.lanes |= bit(lane.number);
        request.bytes = access.bytes;
        // Arrays of global memory begin at multiples of 256 bytes on a GPU; an offset may lie before the origin.
        const uint64_t origin = space == Space::shared ? 0 : (uint64_t(1) << 40) - array.origin;
        request.address[lane.number] = access.address + origin;
        if (!block.begin) block.begin = array.begin + origin;
    }

    void comparison(const Lane& lane, uint32_t code) override { comparison_[thread_of(lane)] = code; }

    void step(const Lane& lane, uint32_t code) override {
        const unsigned thread = thread_of(lane);
        if (!comparison_[thread]) return;
        InBlock& block = instructions_[{comparison_[thread], Space::global, Traffic::branch}];
        comparison_[thread] = 0;
        const uint32_t turn = block.executed[thread]++;
        if (turn >= most_branches) return;
        auto& turns = block.turns[lane.warp->number];
        if (turns.size() <= turn) turns.resize(turn + 1);
        BranchTurn& made = turns[turn];
        made.diverged |= made.lanes && made.next != code;
        made.next = code;
        made.lanes |= bit(lane.number);
    }

    void ends() override {
        for (const auto& [instruction, block] : instructions_) costs_.add(instruction, sum_of(instruction, block));
        instructions_.clear();
    }

private:
    static Cost sum_of(const Instruction& instruction, const InBlock& block) {
        Cost sum;
        for (unsigned warp = 0; warp < max_warps; ++warp) {
            const uint32_t* const executed = block.executed + warp * lanes_per_warp;
            sum.requests += *std::max_element(executed, executed + lanes_per_warp);
            for (const BranchTurn& turn : block.turns[warp]) {
                ++sum.counted;
                sum.lanes += unsigned(__builtin_popcount(turn.lanes));
                sum.actual += turn.diverged;
            }
            for (const Request& request : block.requests[warp]) {
                const bool shared = std::get<Space>(instruction) == Space::shared;
                const Units found = shared ? wavefronts(request) : sectors(request);
                const unsigned lanes = unsigned(__builtin_popcount(request.lanes));
                if (!sum.first.lanes) {
                    sum.first = request;
                    for (uint64_t& address : sum.first.address) address -= block.begin;
                }
                ++sum.counted;
                sum.lanes += lanes;
                sum.bytes += uint64_t(lanes) * request.bytes;
                sum.actual += found.actual;
                sum.ideal += found.ideal;
            }
        }
        return sum;
    }

    LineCosts& costs_;
    std::map<Instruction, InBlock> instructions_;
    uint32_t comparison_[max_threads] = {};  // that a thread has made, and that no step followed yet
};

}  // namespace

std::unique_ptr<BlockObserver> LineCosts::watch(RunningBlock&) { return std::make_unique<BlockCosts>(*this); }

void LineCosts::add(const Instruction& instruction, const Cost& cost) {
    const std::lock_guard<std::mutex> guard(mutex_);
    Cost& sum = costs_[instruction];
    sum.requests += cost.requests;
    sum.counted += cost.counted;
    sum.lanes += cost.lanes;
    sum.bytes += cost.bytes;
    sum.actual += cost.actual;
    sum.ideal += cost.ideal;
    if (!sum.first.lanes) sum.first = cost.first;
}

// cost, code, space, traffic, requests, counted, lanes, bytes, actual, ideal, bytes of a lane in the first request, and
// the first byte of each of its lanes, or -1
void LineCosts::report(std::string& out) {
    for (const auto& [instruction, cost] : costs_) {
        const auto& [code, space, traffic] = instruction;
        char line[256];
        snprintf(line, sizeof line, "cost\t%u\t%u\t%u\t%llu\t%llu\t%llu\t%llu\t%llu\t%llu\t%u", code, unsigned(space),
                 unsigned(traffic), (unsigned long long)cost.requests, (unsigned long long)cost.counted,
                 (unsigned long long)cost.lanes, (unsigned long long)cost.bytes, (unsigned long long)cost.actual,
                 (unsigned long long)cost.ideal, cost.first.bytes);
        out += line;
        for (unsigned lane = 0; cost.first.lanes && lane < lanes_per_warp; ++lane) {
            out += '\t';
            out += cost.first.lanes & bit(lane) ? std::to_string(int64_t(cost.first.address[lane])) : "-1";
        }
        out += '\n';
    }
}

}  // namespace simt::checked
