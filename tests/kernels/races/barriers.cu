// Barriers of a block: each `bug` misses one, or does not reach it with all threads; each `ok` is the repair.
// The line before a kernel says its kind, the setup of races.yaml, and what is wrong. RACE a and RACE b mark the two sides.
#include <cuda/barrier>
#include <cuda/std/utility>

constexpr int BLOCK = 64;

// ok neighbour: everyone has stored before anyone reads
__global__ void neighbour(const int* in, int* out)
{
    __shared__ int s[BLOCK];
    const int t = threadIdx.x, i = blockIdx.x * BLOCK + t;
    s[t] = in[i];
    __syncthreads();
    out[i] = s[(t + 1) % BLOCK];
}

// bug neighbour: no barrier between the stores and the neighbours' loads
__global__ void neighbourNoBarrier(const int* in, int* out)
{
    __shared__ int s[BLOCK];
    const int t = threadIdx.x, i = blockIdx.x * BLOCK + t;
    s[t] = in[i];                  // RACE a
    out[i] = s[(t + 1) % BLOCK];   // RACE b
}

// bug neighbour: a vote is no barrier
__global__ void neighbourVote(const int* in, int* out)
{
    __shared__ int s[BLOCK];
    const int t = threadIdx.x, i = blockIdx.x * BLOCK + t;
    s[t] = in[i];                                              // RACE a
    if (__any_sync(0xffffffff, 1)) out[i] = s[(t + 1) % BLOCK];  // RACE b
}

// ok neighbour: __syncthreads_count is a barrier, too
__global__ void neighbourCount(const int* in, int* out)
{
    __shared__ int s[BLOCK];
    const int t = threadIdx.x, i = blockIdx.x * BLOCK + t;
    s[t] = in[i];
    if (__syncthreads_count(1) == BLOCK) out[i] = s[(t + 1) % BLOCK];
}

// bug neighbour: a fence orders nobody else's accesses
__global__ void neighbourFence(const int* in, int* out)
{
    __shared__ int s[BLOCK];
    const int t = threadIdx.x, i = blockIdx.x * BLOCK + t;
    s[t] = in[i];                  // RACE a
    __threadfence_block();
    out[i] = s[(t + 1) % BLOCK];   // RACE b
}

// bug neighbour: __syncwarp where the neighbour of a warp's last lane is in the other warp
__global__ void neighbourWarp(const int* in, int* out)
{
    __shared__ int s[BLOCK];
    const int t = threadIdx.x, i = blockIdx.x * BLOCK + t;
    s[t] = in[i];                  // RACE a
    __syncwarp();
    out[i] = s[(t + 1) % BLOCK];   // RACE b
}

// ok blockSums: a barrier in each step of the tree
__global__ void treeSum(const int* in, int* out)
{
    __shared__ int s[BLOCK];
    const int t = threadIdx.x;
    s[t] = in[blockIdx.x * BLOCK + t];
    __syncthreads();
    for (int half = BLOCK / 2; half > 0; half /= 2) {
        if (t < half) s[t] += s[t + half];
        __syncthreads();
    }
    if (t == 0) out[blockIdx.x] = s[0];
}

// bug blockSums: one barrier before the tree, none in it
__global__ void treeSumOneBarrier(const int* in, int* out)
{
    __shared__ int s[BLOCK];
    const int t = threadIdx.x;
    s[t] = in[blockIdx.x * BLOCK + t];
    __syncthreads();
    for (int half = BLOCK / 2; half > 0; half /= 2) {
        if (t < half) s[t] += s[t + half];  // RACE a b
    }
    if (t == 0) out[blockIdx.x] = s[0];
}

// bug blockSums: interleaved addressing, barrier only every other step
__global__ void treeSumEverySecond(const int* in, int* out)
{
    __shared__ int s[BLOCK];
    const int t = threadIdx.x;
    s[t] = in[blockIdx.x * BLOCK + t];
    __syncthreads();
    for (int step = 1; step < BLOCK; step *= 2) {
        if (t % (2 * step) == 0) s[t] += s[t + step];  // RACE a b
        if (step & 0x15) __syncthreads();
    }
    if (t == 0) out[blockIdx.x] = s[0];
}

// ok blockScan: Hillis and Steele in place, a barrier between reading and writing and one after it
__global__ void hillisSteele(const int* in, int* out)
{
    __shared__ int s[BLOCK];
    const int t = threadIdx.x, i = blockIdx.x * BLOCK + t;
    s[t] = in[i];
    for (int step = 1; step < BLOCK; step *= 2) {
        __syncthreads();
        const int before = t >= step ? s[t - step] : 0;
        __syncthreads();
        s[t] += before;
    }
    out[i] = s[t];
}

// bug blockScan: Hillis and Steele in place without the second barrier
__global__ void hillisSteeleOneBarrier(const int* in, int* out)
{
    __shared__ int s[BLOCK];
    const int t = threadIdx.x, i = blockIdx.x * BLOCK + t;
    s[t] = in[i];
    for (int step = 1; step < BLOCK; step *= 2) {
        __syncthreads();
        const int before = t >= step ? s[t - step] : 0;  // RACE a
        s[t] += before;                                  // RACE b
    }
    out[i] = s[t];
}

// ok blockScan: two buffers need one barrier a step
__global__ void hillisSteeleBuffers(const int* in, int* out)
{
    __shared__ int s[2][BLOCK];
    const int t = threadIdx.x, i = blockIdx.x * BLOCK + t;
    int from = 0;
    s[0][t] = in[i];
    for (int step = 1; step < BLOCK; step *= 2, from ^= 1) {
        __syncthreads();
        s[from ^ 1][t] = s[from][t] + (t >= step ? s[from][t - step] : 0);
    }
    out[i] = s[from][t];
}

// bug blockScan: two buffers, but the barrier only in every second step
__global__ void hillisSteeleBuffersSkip(const int* in, int* out)
{
    __shared__ int s[2][BLOCK];
    const int t = threadIdx.x, i = blockIdx.x * BLOCK + t;
    int from = 0;
    s[0][t] = in[i];
    for (int step = 1; step < BLOCK; step *= 2, from ^= 1) {
        if (from == 0) __syncthreads();
        s[from ^ 1][t] = s[from][t] + (t >= step ? s[from][t - step] : 0);  // RACE a b
    }
    out[i] = s[from][t];
}

// ok exclusiveScan: Blelloch's two sweeps
__global__ void blelloch(const int* in, int* out)
{
    __shared__ int s[2 * BLOCK];
    const int t = threadIdx.x, n = 2 * BLOCK;
    s[t] = in[t];
    s[t + BLOCK] = in[t + BLOCK];
    int offset = 1;
    for (int d = n / 2; d > 0; d /= 2, offset *= 2) {
        __syncthreads();
        if (t < d) s[offset * (2 * t + 2) - 1] += s[offset * (2 * t + 1) - 1];
    }
    if (t == 0) s[n - 1] = 0;
    for (int d = 1; d < n; d *= 2) {
        offset /= 2;
        __syncthreads();
        if (t < d) {
            const int left = s[offset * (2 * t + 1) - 1];
            s[offset * (2 * t + 1) - 1] = s[offset * (2 * t + 2) - 1];
            s[offset * (2 * t + 2) - 1] += left;
        }
    }
    __syncthreads();
    out[t] = s[t];
    out[t + BLOCK] = s[t + BLOCK];
}

// bug exclusiveScan: Blelloch without the barrier before the result is read
__global__ void blellochEnd(const int* in, int* out)
{
    __shared__ int s[2 * BLOCK];
    const int t = threadIdx.x, n = 2 * BLOCK;
    s[t] = in[t];
    s[t + BLOCK] = in[t + BLOCK];
    int offset = 1;
    for (int d = n / 2; d > 0; d /= 2, offset *= 2) {
        __syncthreads();
        if (t < d) s[offset * (2 * t + 2) - 1] += s[offset * (2 * t + 1) - 1];
    }
    if (t == 0) s[n - 1] = 0;
    for (int d = 1; d < n; d *= 2) {
        offset /= 2;
        __syncthreads();
        if (t < d) {
            const int left = s[offset * (2 * t + 1) - 1];
            s[offset * (2 * t + 1) - 1] = s[offset * (2 * t + 2) - 1];  // RACE a
            s[offset * (2 * t + 2) - 1] += left;                        // RACE a
        }
    }
    out[t] = s[t];                  // RACE b
    out[t + BLOCK] = s[t + BLOCK];  // RACE b
}

// ok blockScan2: two tiles take turns, one barrier a tile: nobody is two tiles ahead
__global__ void tilesTakeTurns(const int* in, int* out)
{
    __shared__ int tile[2][BLOCK];
    const int t = threadIdx.x;
    int sum = 0;
    for (int k = 0; k < 4; ++k) {
        tile[k % 2][t] = in[k * BLOCK + t];
        __syncthreads();
        for (int j = 0; j < BLOCK; ++j) sum += tile[k % 2][j] * (j <= t);
    }
    out[t] = sum;
}

// bug blockScan2: one tile, no barrier before the next one is loaded into it
__global__ void tileOverwritten(const int* in, int* out)
{
    __shared__ int tile[BLOCK];
    const int t = threadIdx.x;
    int sum = 0;
    for (int k = 0; k < 4; ++k) {
        tile[t] = in[k * BLOCK + t];  // RACE a
        __syncthreads();
        for (int j = 0; j < BLOCK; ++j) sum += tile[j] * (j <= t);  // RACE b
    }
    out[t] = sum;
}

// bug blockScan2: two tiles that never take turns, by an index that stays the same
__global__ void tilesDoNotTurn(const int* in, int* out)
{
    __shared__ int tile[2][BLOCK];
    const int t = threadIdx.x;
    int sum = 0;
    for (int k = 0; k < 4; ++k) {
        tile[k / 4][t] = in[k * BLOCK + t];  // RACE a
        __syncthreads();
        for (int j = 0; j < BLOCK; ++j) sum += tile[k / 4][j] * (j <= t);  // RACE b
    }
    out[t] = sum;
}

// ok transposed: rows in, columns out, with a barrier
__global__ void tileTransposed(const int* in, int* out)
{
    __shared__ int tile[32][33];
    const int x = threadIdx.x;
    for (int y = threadIdx.y; y < 32; y += 8) tile[y][x] = in[32 * y + x];
    __syncthreads();
    for (int y = threadIdx.y; y < 32; y += 8) out[32 * y + x] = tile[x][y];
}

// bug transposed: rows in, columns out, without a barrier
__global__ void tileTransposedAtOnce(const int* in, int* out)
{
    __shared__ int tile[32][33];
    const int x = threadIdx.x;
    for (int y = threadIdx.y; y < 32; y += 8) tile[y][x] = in[32 * y + x];   // RACE a
    for (int y = threadIdx.y; y < 32; y += 8) out[32 * y + x] = tile[x][y];  // RACE b
}

// ok claimed: thread 0 claims a range for all, with a barrier before its variable is used again
__global__ void claimed(int* next, int* out)
{
    __shared__ int base;
    for (int round = 0; round < 3; ++round) {
        if (threadIdx.x == 0) base = atomicAdd(next, BLOCK);
        __syncthreads();
        out[base + threadIdx.x] = base + threadIdx.x;
        __syncthreads();
    }
}

// bug claimed: the next range is claimed while some still use the last one
__global__ void claimedAgain(int* next, int* out)
{
    __shared__ int base;
    for (int round = 0; round < 3; ++round) {
        if (threadIdx.x == 0) base = atomicAdd(next, BLOCK);  // RACE a
        __syncthreads();
        out[base + threadIdx.x] = base + threadIdx.x;         // RACE b
    }
}

// ok blockSums2: a helper with its own array is called twice and begins with a barrier
__device__ int summed(int value)
{
    __shared__ int parts[BLOCK];
    __syncthreads();
    parts[threadIdx.x] = value;
    for (int half = BLOCK / 2; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) parts[threadIdx.x] += parts[threadIdx.x + half];
    }
    __syncthreads();
    return parts[0];
}
__global__ void summedTwice(const int* in, int* out)
{
    const int value = in[blockIdx.x * BLOCK + threadIdx.x], first = summed(value), second = summed(2 * value);
    if (threadIdx.x == 0) out[blockIdx.x] = first + second;
}

// bug blockSums2: a helper is called again while slow threads still read its last result
__device__ int summedCarelessly(int value)
{
    __shared__ int parts[BLOCK];
    parts[threadIdx.x] = value;  // RACE a
    for (int half = BLOCK / 2; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) parts[threadIdx.x] += parts[threadIdx.x + half];
    }
    __syncthreads();
    return parts[0];  // RACE b
}
__global__ void summedTwiceCarelessly(const int* in, int* out)
{
    const int value = in[blockIdx.x * BLOCK + threadIdx.x];
    const int first = summedCarelessly(value), second = summedCarelessly(2 * value);
    if (threadIdx.x == 0) out[blockIdx.x] = first + second;
}

// ok blockSort: odd-even merge of a block, each exchange by one thread, a barrier after each phase
__global__ void oddEven(const int* in, int* out)
{
    __shared__ int s[BLOCK];
    const int t = threadIdx.x;
    s[t] = in[t];
    __syncthreads();
    for (int phase = 0; phase < BLOCK; ++phase) {
        if (t % 2 == phase % 2 && t + 1 < BLOCK && s[t] > s[t + 1]) {
            const int large = s[t];
            s[t] = s[t + 1];
            s[t + 1] = large;
        }
        __syncthreads();
    }
    out[t] = s[t];
}

// bug blockSort: every thread exchanges in every phase
__global__ void everyPair(const int* in, int* out)
{
    __shared__ int s[BLOCK];
    const int t = threadIdx.x;
    s[t] = in[t];
    __syncthreads();
    for (int phase = 0; phase < BLOCK; ++phase) {
        if (t + 1 < BLOCK && s[t] > s[t + 1]) {  // RACE a
            const int large = s[t];              // RACE a
            s[t] = s[t + 1];                     // RACE b
            s[t + 1] = large;                    // RACE b
        }
        __syncthreads();
    }
    out[t] = s[t];
}

// ok scattered: a stride that is coprime to the block scatters without collisions
__global__ void strideCoprime(const int* in, int* out)
{
    __shared__ int s[BLOCK];
    const int t = threadIdx.x, i = blockIdx.x * BLOCK + t;
    s[5 * t % BLOCK] = in[i];
    __syncthreads();
    out[i] = s[t] >= 0;
}

// bug scattered: an even stride, so two threads store different values to one element
__global__ void strideEven(const int* in, int* out)
{
    __shared__ int s[BLOCK];
    const int t = threadIdx.x, i = blockIdx.x * BLOCK + t;
    s[t] = 0;
    __syncthreads();
    s[6 * t % BLOCK] = in[i];  // RACE a b
    __syncthreads();
    out[i] = s[t] >= 0;
}

// ok histogram: bins are cleared, counted by atomics, and added, with two barriers
__global__ void histogramBarriers(const int* in, int* out)
{
    __shared__ int bins[8];
    const int t = threadIdx.x;
    if (t < 8) bins[t] = 0;
    __syncthreads();
    atomicAdd(&bins[in[blockIdx.x * BLOCK + t] % 8], 1);
    __syncthreads();
    if (t < 8) atomicAdd(&out[t], bins[t]);
}

// bug histogram: counted before all bins are cleared
__global__ void histogramCleared(const int* in, int* out)
{
    __shared__ int bins[8];
    const int t = threadIdx.x;
    if (t < 8) bins[t] = 0;                               // RACE a
    atomicAdd(&bins[in[blockIdx.x * BLOCK + t] % 8], 1);  // RACE b
    __syncthreads();
    if (t < 8) atomicAdd(&out[t], bins[t]);
}

// bug histogram: read while others still count
__global__ void histogramEarly(const int* in, int* out)
{
    __shared__ int bins[8];
    const int t = threadIdx.x;
    if (t < 8) bins[t] = 0;
    __syncthreads();
    atomicAdd(&bins[in[blockIdx.x * BLOCK + t] % 8], 1);  // RACE a
    if (t < 8) atomicAdd(&out[t], bins[t]);               // RACE b
}

// bug histogram: bins are counted without atomics
__global__ void histogramPlain(const int* in, int* out)
{
    __shared__ int bins[8];
    const int t = threadIdx.x;
    if (t < 8) bins[t] = 0;
    __syncthreads();
    bins[in[blockIdx.x * BLOCK + t] % 8]++;  // RACE a b
    __syncthreads();
    if (t < 8) atomicAdd(&out[t], bins[t]);
}

// ok bytes: neighbouring bytes of one word belong to different threads
__global__ void bytesApart(const int* in, int* out)
{
    __shared__ unsigned char s[BLOCK];
    const int t = threadIdx.x, i = blockIdx.x * BLOCK + t;
    s[t] = (unsigned char)in[i];
    __syncthreads();
    out[i] = s[BLOCK - 1 - t];
}

// bug bytes: four threads pack their bytes into one word by reading and writing it
__global__ void bytesPacked(const int* in, int* out)
{
    __shared__ unsigned int s[BLOCK / 4];
    const int t = threadIdx.x, i = blockIdx.x * BLOCK + t;
    if (t < BLOCK / 4) s[t] = 0;
    __syncthreads();
    s[t / 4] |= (unsigned int)(in[i] & 0xff) << 8 * (t % 4);  // RACE a b
    __syncthreads();
    const int r = BLOCK - 1 - t;
    out[i] = s[r / 4] >> 8 * (r % 4) & 0xff;
}

// ok vectors: vectors of four are read after the barrier
__global__ void vectorsAfter(const int* in, int* out)
{
    __shared__ __align__(16) int s[BLOCK];
    const int t = threadIdx.x, i = blockIdx.x * BLOCK + t;
    s[t] = in[i];
    __syncthreads();
    const int4 v = reinterpret_cast<const int4*>(s)[t / 4];
    out[i] = v.x + v.y + v.z + v.w;
}

// bug vectors: a vector of four is read while three others still store its elements
__global__ void vectorsBefore(const int* in, int* out)
{
    __shared__ __align__(16) int s[BLOCK];
    const int t = threadIdx.x, i = blockIdx.x * BLOCK + t;
    s[t] = in[i];                                            // RACE a
    const int4 v = reinterpret_cast<const int4*>(s)[t / 4];  // RACE b
    out[i] = v.x + v.y + v.z + v.w;
}

// ok neighbour: the whole block takes one of two ways, each with its barrier
__global__ void barrierUniform(const int* in, int* out)
{
    __shared__ int s[BLOCK];
    const int t = threadIdx.x, i = blockIdx.x * BLOCK + t;
    s[t] = in[i];
    if (blockIdx.x % 2 == 0) {
        __syncthreads();
        out[i] = s[(t + 1) % BLOCK];
    } else {
        __syncthreads();
        const int right = (t + 1) % BLOCK;
        out[i] = s[right];
    }
}

// bug neighbour: half of a warp waits at a barrier that the others never reach
__global__ void barrierInBranch(const int* in, int* out)
{
    __shared__ int s[BLOCK];
    const int t = threadIdx.x, i = blockIdx.x * BLOCK + t;
    s[t] = in[i];
    if (t % 2 == 0) {
        __syncthreads();  // BARRIER
    }
    __syncwarp();     // BARRIER
    __syncthreads();  // BARRIER
    out[i] = s[(t + 1) % BLOCK];
}

// bug neighbour: a loop with a barrier that threads leave after different rounds
__global__ void barrierInLoop(const int* in, int* out)
{
    __shared__ int s[BLOCK];
    const int t = threadIdx.x, i = blockIdx.x * BLOCK + t;
    s[t] = in[i];
    for (int round = 0; round < 1 + t / 32; ++round) {
        __syncthreads();  // BARRIER
    }
    out[i] = s[(t + 1) % BLOCK];
    __syncthreads();  // BARRIER
}

// ok found: the first of many finders wins by an atomic
__global__ void foundAtomic(const int* in, int* out)
{
    __shared__ int found;
    if (threadIdx.x == 0) found = 0;
    __syncthreads();
    if (in[blockIdx.x * BLOCK + threadIdx.x] % 7 == 0) atomicExch(&found, 1);
    __syncthreads();
    if (threadIdx.x == 0) out[blockIdx.x] = found;
}

// same found: several finders store the same 1
__global__ void foundSame(const int* in, int* out)
{
    __shared__ int found;
    if (threadIdx.x == 0) found = 0;
    __syncthreads();
    if (in[blockIdx.x * BLOCK + threadIdx.x] % 7 == 0) found = 1;  // RACE a b
    __syncthreads();
    if (threadIdx.x == 0) out[blockIdx.x] = found;
}

// bug found: the flag is cleared without a barrier before it is set
__global__ void foundCleared(const int* in, int* out)
{
    __shared__ int found;
    if (threadIdx.x == 0) found = 0;                                          // RACE a
    if (in[blockIdx.x * BLOCK + threadIdx.x] % 7 == 0) atomicExch(&found, 1);  // RACE b
    __syncthreads();
    if (threadIdx.x == 0) out[blockIdx.x] = found;
}

// ok stream: a producing and a consuming warp, two buffers, four barriers, as in the guide
__global__ void warpsSpecialised(const int* in, int* out)
{
    __shared__ int buffer[2][32];
#pragma nv_diag_suppress static_var_with_dynamic_init
    __shared__ cuda::barrier<cuda::thread_scope_block> ready[2], filled[2];
    const int t = threadIdx.x, lane = t % 32;
    if (t < 2) init(&ready[t], BLOCK), init(&filled[t], BLOCK);
    __syncthreads();
    if (t < 32) {
        for (int k = 0; k < 8; ++k) {
            ready[k % 2].arrive_and_wait();
            buffer[k % 2][lane] = in[k * 32 + lane];
            (void)filled[k % 2].arrive();
        }
    } else {
        (void)ready[0].arrive();
        (void)ready[1].arrive();
        int sum = 0;
        for (int k = 0; k < 8; ++k) {
            filled[k % 2].arrive_and_wait();
            sum += buffer[k % 2][31 - lane];
            if (k < 6) (void)ready[k % 2].arrive();
        }
        out[lane] = sum;
    }
}

// bug stream: the consumer frees the buffer before it reads it
__global__ void warpsFreedEarly(const int* in, int* out)
{
    __shared__ int buffer[2][32];
#pragma nv_diag_suppress static_var_with_dynamic_init
    __shared__ cuda::barrier<cuda::thread_scope_block> ready[2], filled[2];
    const int t = threadIdx.x, lane = t % 32;
    if (t < 2) init(&ready[t], BLOCK), init(&filled[t], BLOCK);
    __syncthreads();
    if (t < 32) {
        for (int k = 0; k < 8; ++k) {
            ready[k % 2].arrive_and_wait();
            buffer[k % 2][lane] = in[k * 32 + lane];  // RACE a
            (void)filled[k % 2].arrive();
        }
    } else {
        (void)ready[0].arrive();
        (void)ready[1].arrive();
        int sum = 0;
        for (int k = 0; k < 8; ++k) {
            filled[k % 2].arrive_and_wait();
            if (k < 6) (void)ready[k % 2].arrive();
            sum += buffer[k % 2][31 - lane];  // RACE b
        }
        out[lane] = sum;
    }
}

// ok firstBlock: only one block uses its barrier; the others have returned when its threads wait
__global__ void barrierOfOneBlock(const int* in, int* out)
{
    __shared__ int s[BLOCK];
#pragma nv_diag_suppress static_var_with_dynamic_init
    __shared__ cuda::barrier<cuda::thread_scope_block> all;
    const int t = threadIdx.x;
    if (blockIdx.x > 0) return;
    if (t == 0) init(&all, BLOCK);
    __syncthreads();
    s[t] = in[t];
    auto token = all.arrive();
    all.wait(cuda::std::move(token));
    out[t] = s[(t + 1) % BLOCK];
}
