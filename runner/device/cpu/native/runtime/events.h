// What a checked launch is told of (see checked/access.h). In the library of the plain CPU device these are nothing.
#pragma once

#include "worker.h"

namespace simt::events {

#ifdef SIMT_CHECKED

void launch_begins(Launch& launch);
void launch_ends(Launch& launch);
void lay_out(RunningBlock* block, Launch& launch);
void leave(Worker* worker);
void block_begins(RunningBlock* block, uint64_t number);
void block_ends(RunningBlock* block);
void barrier(RunningBlock* block);
void grid_barrier(RunningBlock* block);
void warp_meets(Warp* warp, Operation operation, uint32_t lanes);
void team_meets(RunningBlock* block, unsigned first, unsigned count);
void named_barrier_arrives(RunningBlock* block, uint32_t number, const Warp* warp, uint32_t lanes);
void named_barrier_completes(RunningBlock* block, uint32_t number, const uint32_t* waiting);
void copies(void* to, const void* from, size_t bytes, size_t zeros, bool later, const void* call);
void copied(void* to, size_t bytes);

// While this exists, accesses in the block are the runtime's own.
class Unwatched {
public:
    explicit Unwatched(RunningBlock* block);
    ~Unwatched();
    Unwatched(const Unwatched&) = delete;
    Unwatched& operator=(const Unwatched&) = delete;

private:
    RunningBlock* block_;
    bool before_ = false;
};

#else

inline void launch_begins(Launch&) {}
inline void launch_ends(Launch&) {}
inline void lay_out(RunningBlock*, Launch&) {}
inline void leave(Worker*) {}
inline void block_begins(RunningBlock*, uint64_t) {}
inline void block_ends(RunningBlock*) {}
inline void barrier(RunningBlock*) {}
inline void grid_barrier(RunningBlock*) {}
inline void warp_meets(Warp*, Operation, uint32_t) {}
inline void team_meets(RunningBlock*, unsigned, unsigned) {}
inline void named_barrier_arrives(RunningBlock*, uint32_t, const Warp*, uint32_t) {}
inline void named_barrier_completes(RunningBlock*, uint32_t, const uint32_t*) {}
inline void copies(void*, const void*, size_t, size_t, bool, const void*) {}
inline void copied(void*, size_t) {}

struct Unwatched {
    explicit Unwatched(RunningBlock*) {}
};

#endif

}  // namespace simt::events
