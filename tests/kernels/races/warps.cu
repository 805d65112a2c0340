// Lanes of a warp: since Volta they do not run in lockstep, and only __syncwarp and its relatives order their memory.
// The line before a kernel says its kind, the setup of races.yaml, and what is wrong. RACE a and RACE b mark the two sides.
#include <cooperative_groups.h>

namespace cg = cooperative_groups;

constexpr int BLOCK = 64;
constexpr unsigned int FULL = 0xffffffff;

// ok blockSums: the last warp reads, synchronizes, writes, synchronizes
__global__ void unrolledWarp(const int* in, int* out)
{
    __shared__ int s[BLOCK];
    const int t = threadIdx.x;
    s[t] = in[blockIdx.x * BLOCK + t];
    __syncthreads();
    if (t < 32) {
        int sum = s[t] + s[t + 32];
        for (int half = 16; half > 0; half /= 2) {
            s[t] = sum;
            __syncwarp();
            sum += t < half ? s[t + half] : 0;
            __syncwarp();
        }
        if (t == 0) out[blockIdx.x] = sum;
    }
}

// bug blockSums: the last warp in lockstep, as before Volta, through a volatile pointer
__global__ void unrolledVolatile(const int* in, int* out)
{
    __shared__ int s[BLOCK + 16];
    const int t = threadIdx.x;
    s[t] = in[blockIdx.x * BLOCK + t];
    if (t < 16) s[BLOCK + t] = 0;
    __syncthreads();
    if (t < 32) {
        volatile int* v = s;
        v[t] += v[t + 32];  // RACE a
        v[t] += v[t + 16];  // RACE a b
        v[t] += v[t + 8];   // RACE a b
        v[t] += v[t + 4];   // RACE a b
        v[t] += v[t + 2];   // RACE a b
        v[t] += v[t + 1];   // RACE a b
        if (t == 0) out[blockIdx.x] = v[0];
    }
}

// bug blockSums: __syncwarp between the steps, but each step reads what other lanes write in it
__global__ void unrolledHalfSync(const int* in, int* out)
{
    __shared__ int s[BLOCK + 16];
    const int t = threadIdx.x;
    s[t] = in[blockIdx.x * BLOCK + t];
    if (t < 16) s[BLOCK + t] = 0;
    __syncthreads();
    if (t < 32) {
        for (int half = 32; half > 0; half /= 2) {
            s[t] += s[t + half];  // RACE a b
            __syncwarp();
        }
        if (t == 0) out[blockIdx.x] = s[0];
    }
}

// ok blockSums: only the lower lanes write, and __syncwarp ends each step
__global__ void unrolledLowerLanes(const int* in, int* out)
{
    __shared__ int s[BLOCK];
    const int t = threadIdx.x;
    s[t] = in[blockIdx.x * BLOCK + t];
    __syncthreads();
    if (t < 32) {
        for (int half = 32; half > 0; half /= 2) {
            if (t < half) s[t] += s[t + half];
            __syncwarp();
        }
        if (t == 0) out[blockIdx.x] = s[0];
    }
}

// ok warpReverse: __syncwarp between the lanes' stores and loads
__global__ void reverseSync(const int* in, int* out)
{
    __shared__ int s[BLOCK];
    const int t = threadIdx.x, i = blockIdx.x * BLOCK + t;
    s[t] = in[i];
    __syncwarp();
    out[i] = s[t ^ 31];
}

// bug warpReverse: a shuffle between the stores and the loads orders nothing
__global__ void reverseShuffle(const int* in, int* out)
{
    __shared__ int s[BLOCK];
    const int t = threadIdx.x, i = blockIdx.x * BLOCK + t;
    s[t] = in[i];                                                 // RACE a
    const int always = __shfl_sync(FULL, 1, 0);
    out[i] = s[(t ^ 31) * always];                                // RACE b
}

// bug warpReverse: a ballot between the stores and the loads orders nothing
__global__ void reverseBallot(const int* in, int* out)
{
    __shared__ int s[BLOCK];
    const int t = threadIdx.x, i = blockIdx.x * BLOCK + t;
    s[t] = in[i];                                        // RACE a
    if (__ballot_sync(FULL, t >= 0)) out[i] = s[t ^ 31];  // RACE b
}

// bug warpReverse: each half of the warp synchronizes by itself, then reads what the other half stored
__global__ void reverseHalves(const int* in, int* out)
{
    __shared__ int s[BLOCK];
    const int t = threadIdx.x, i = blockIdx.x * BLOCK + t;
    s[t] = in[i];  // RACE a
    if (t % 32 < 16) __syncwarp(0x0000ffff);
    else __syncwarp(0xffff0000);
    out[i] = s[t ^ 31];  // RACE b
}

// bug warpReverse: a lane's stores are overwritten for the next round before its partner has read them
__global__ void reverseRounds(const int* in, int* out)
{
    __shared__ int s[BLOCK];
    const int t = threadIdx.x, i = blockIdx.x * BLOCK + t;
    int value = in[i];
    for (int round = 0; round < 3; ++round) {
        s[t] = value;  // RACE a
        __syncwarp();
        value = s[t ^ 31];  // RACE b
    }
    out[i] = value;
}

// ok warpReverse: two __syncwarp a round
__global__ void reverseRoundsSync(const int* in, int* out)
{
    __shared__ int s[BLOCK];
    const int t = threadIdx.x, i = blockIdx.x * BLOCK + t;
    int value = in[i];
    for (int round = 0; round < 3; ++round) {
        s[t] = value;
        __syncwarp();
        value = s[t ^ 31];
        __syncwarp();
    }
    out[i] = value;
}

// ok halfReverse: each half of the warp synchronizes by itself and keeps to itself, in different branches
__global__ void halvesApart(const int* in, int* out)
{
    __shared__ int s[BLOCK];
    const int t = threadIdx.x, i = blockIdx.x * BLOCK + t;
    s[t] = in[i];
    if (t % 32 < 16) {
        __syncwarp(0x0000ffff);
        out[i] = s[t ^ 15];
    } else {
        __syncwarp(0xffff0000);
        out[i] = s[t ^ 15];
    }
}

// ok halfReverse: tiles of 16 synchronize and keep to themselves
__global__ void tilesApart(const int* in, int* out)
{
    __shared__ int s[BLOCK];
    const int t = threadIdx.x, i = blockIdx.x * BLOCK + t;
    const auto tile = cg::tiled_partition<16>(cg::this_thread_block());
    s[t] = in[i];
    tile.sync();
    out[i] = s[t ^ 15];
}

// bug halfReverse: tiles of 8 synchronize, but a tile reads its neighbour's elements
__global__ void tilesTooSmall(const int* in, int* out)
{
    __shared__ int s[BLOCK];
    const int t = threadIdx.x, i = blockIdx.x * BLOCK + t;
    const auto tile = cg::tiled_partition<8>(cg::this_thread_block());
    s[t] = in[i];  // RACE a
    tile.sync();
    out[i] = s[t ^ 15];  // RACE b
}

// bug halfReverse: a group's shuffle is no sync of the group
__global__ void tilesShuffle(const int* in, int* out)
{
    __shared__ int s[BLOCK];
    const int t = threadIdx.x, i = blockIdx.x * BLOCK + t;
    const auto tile = cg::tiled_partition<16>(cg::this_thread_block());
    s[t] = in[i];                    // RACE a
    const int one = tile.shfl(1, 0);
    out[i] = s[(t ^ 15) * one];      // RACE b
}

// ok leaderValue: one lane stores, all synchronize, all read
__global__ void leaderSync(const int* in, int* out)
{
    __shared__ int s[BLOCK / 32];
    const int t = threadIdx.x, i = blockIdx.x * BLOCK + t;
    if (t % 32 == 0) s[t / 32] = in[i] + 1;
    __syncwarp();
    out[i] = s[t / 32];
}

// bug leaderValue: the warp is believed to reconverge behind the branch, which would order the leader's store
__global__ void leaderReconverges(const int* in, int* out)
{
    __shared__ int s[BLOCK / 32];
    const int t = threadIdx.x, i = blockIdx.x * BLOCK + t;
    if (t % 32 == 0) s[t / 32] = in[i] + 1;  // RACE a
    out[i] = s[t / 32];                      // RACE b
}

// ok leaderValue: the value goes through a shuffle, not through memory
__global__ void leaderShuffle(const int* in, int* out)
{
    const int i = blockIdx.x * BLOCK + threadIdx.x;
    out[i] = __shfl_sync(FULL, in[i] + 1, 0);
}

// bug leaderValue: only the lower half of the warp takes part in __syncwarp, all read
__global__ void leaderPartOfWarp(const int* in, int* out)
{
    __shared__ int s[BLOCK / 32];
    const int t = threadIdx.x, i = blockIdx.x * BLOCK + t;
    if (t % 32 == 0) s[t / 32] = in[i] + 1;  // RACE a
    if (t % 32 < 16) __syncwarp(0x0000ffff);
    out[i] = s[t / 32];  // RACE b
}

// ok compacted: lanes that keep their element form a group of their own and count within it
__global__ void compactedGroup(const int* in, int* out)
{
    __shared__ int counts[BLOCK / 32];
    const int t = threadIdx.x, i = blockIdx.x * BLOCK + t;
    if (t % 32 == 0) counts[t / 32] = 0;
    __syncwarp();
    if (in[i] % 3 == 0) {
        const auto active = cg::coalesced_threads();
        if (active.thread_rank() == 0) counts[t / 32] = (int)active.size();
        active.sync();
        out[i] = counts[t / 32];
    } else {
        out[i] = 0;
    }
}

// bug compacted: the lanes of the group read what the first one stores without a sync
__global__ void compactedNoSync(const int* in, int* out)
{
    __shared__ int counts[BLOCK / 32];
    const int t = threadIdx.x, i = blockIdx.x * BLOCK + t;
    if (t % 32 == 0) counts[t / 32] = 0;
    __syncwarp();
    if (in[i] % 3 == 0) {
        const auto active = cg::coalesced_threads();
        if (active.thread_rank() == 0) counts[t / 32] = (int)active.size();  // RACE a
        out[i] = counts[t / 32];                                             // RACE b
    } else {
        out[i] = 0;
    }
}

// ok rings: two halves of a warp pass values on for different numbers of rounds
__global__ void ringsUnequal(const int* in, int* out)
{
    __shared__ int s[BLOCK];
    const int t = threadIdx.x, i = blockIdx.x * BLOCK + t, half = t / 16 * 16;
    const unsigned int mask = t % 32 < 16 ? 0x0000ffffu : 0xffff0000u;
    int value = in[i];
    for (int round = 0; round < (t % 32 < 16 ? 16 : 32); ++round) {
        s[t] = value;
        __syncwarp(mask);
        value = s[half + (t + 1) % 16];
        __syncwarp(mask);
    }
    out[i] = value;
}

// ok warpCount: one atomic a warp, by its leader; the others get their places by a shuffle
__global__ void aggregated(const int* in, int* out)
{
    const int t = threadIdx.x, lane = t % 32;
    const unsigned int keep = __ballot_sync(FULL, in[blockIdx.x * BLOCK + t] % 2 == 0);
    int base = 0;
    if (lane == 0) base = atomicAdd(&out[0], __popc(keep));
    base = __shfl_sync(FULL, base, 0);
    if (base < 0) atomicAdd(&out[0], 1);
}

// bug warpCount: one plain addition a warp
__global__ void aggregatedPlain(const int* in, int* out)
{
    const int t = threadIdx.x, lane = t % 32;
    const unsigned int keep = __ballot_sync(FULL, in[blockIdx.x * BLOCK + t] % 2 == 0);
    if (lane == 0) out[0] += __popc(keep);  // RACE a b
}

// bug warpReverse: the mask of __syncwarp names lanes that never arrive
__global__ void maskTooWide(const int* in, int* out)
{
    __shared__ int s[BLOCK];
    const int t = threadIdx.x, i = blockIdx.x * BLOCK + t;
    s[t] = in[i];
    if (t % 32 < 16) __syncwarp();  // BARRIER
    __syncthreads();                // BARRIER
    out[i] = s[t ^ 31];
}

// bug warpReverse: lanes call __syncwarp with a mask that does not name them
__global__ void maskWithoutSelf(const int* in, int* out)
{
    __shared__ int s[BLOCK];
    const int t = threadIdx.x, i = blockIdx.x * BLOCK + t;
    s[t] = in[i];
    __syncwarp(0x0000ffff);  // BARRIER
    out[i] = s[t ^ 31];
}
