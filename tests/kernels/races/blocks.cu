// Blocks are ordered by nothing but atomics with fences: sums, hand-overs, the last block, look-back, locks, scopes.
// The line before a kernel says its kind, the setup of races.yaml, and what is wrong. RACE a and RACE b mark the two sides.
#include <cooperative_groups.h>
#include <cuda/atomic>

namespace cg = cooperative_groups;

constexpr int BLOCK = 64;

// A block's sum, for its thread 0.
__device__ int blockSum(int value)
{
    __shared__ int s[BLOCK];
    s[threadIdx.x] = value;
    __syncthreads();
    for (int half = BLOCK / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) s[threadIdx.x] += s[threadIdx.x + half];
        __syncthreads();
    }
    return s[0];
}

// ok total: blocks add up by an atomic
__global__ void totalAtomic(const int* in, int* out)
{
    const int sum = blockSum(in[blockIdx.x * BLOCK + threadIdx.x]);
    if (threadIdx.x == 0) atomicAdd(out, sum);
}

// bug total: blocks add up by a plain addition
__global__ void totalPlain(const int* in, int* out)
{
    const int sum = blockSum(in[blockIdx.x * BLOCK + threadIdx.x]);
    if (threadIdx.x == 0) *out += sum;  // RACE a b
}

// bug total: an atomic of the block's scope, on what all blocks share
__global__ void totalBlockScope(const int* in, int* out)
{
    const int sum = blockSum(in[blockIdx.x * BLOCK + threadIdx.x]);
    if (threadIdx.x == 0) atomicAdd_block(out, sum);  // RACE a b
}

// bug total: one block adds by an atomic, the others do not
__global__ void totalMixed(const int* in, int* out)
{
    const int sum = blockSum(in[blockIdx.x * BLOCK + threadIdx.x]);
    if (threadIdx.x == 0) {
        if (blockIdx.x == 0) *out = *out + sum;  // RACE a
        else atomicAdd(out, sum);                // RACE b
    }
}

// ok blockSums: an atomic of the block's scope, on an element of each block
__global__ void sumsBlockScope(const int* in, int* out)
{
    if (threadIdx.x == 0) out[blockIdx.x] = 0;
    __syncthreads();
    atomicAdd_block(&out[blockIdx.x], in[blockIdx.x * BLOCK + threadIdx.x]);
}

// ok largest: atomics only
__global__ void largestAtomic(const int* in, int* out)
{
    atomicMax(out, in[blockIdx.x * BLOCK + threadIdx.x]);
}

// bug largest: a plain look before the atomic, to save it
__global__ void largestLook(const int* in, int* out)
{
    const int value = in[blockIdx.x * BLOCK + threadIdx.x];
    if (*out < value) atomicMax(out, value);  // RACE a b
}

// ok smoothed: neighbours' old values, from an array that nobody writes
__global__ void smoothedApart(const int* in, int* out)
{
    const int i = blockIdx.x * BLOCK + threadIdx.x;
    out[i] = in[i] + (i + 1 < gridDim.x * BLOCK ? in[i + 1] : 0);
}

// bug smoothedInPlace: in and out are one array, and the next block's first element may be new already
__global__ void smoothedInPlace(int* data)
{
    const int i = blockIdx.x * BLOCK + threadIdx.x;
    const int right = i + 1 < gridDim.x * BLOCK ? data[i + 1] : 0;  // RACE a
    __syncthreads();
    data[i] += right;  // RACE b
}

// bug aliased: two pointers, one array, shifted by one element within a block
__global__ void shiftedAlias(int* to, const int* from)
{
    const int i = blockIdx.x * BLOCK + threadIdx.x;
    if (i + 1 < gridDim.x * BLOCK) to[i] = from[i + 1];  // RACE a b
}

// ok aliased: two pointers, one array: a single block reads all of it before it writes
__global__ void shiftedByOneBlock(int* to, const int* from)
{
    if (blockIdx.x > 0) return;
    const int t = threadIdx.x, n = gridDim.x * BLOCK;
    int kept[4];
    for (int k = 0; k < 4; ++k) kept[k] = k * BLOCK + t + 1 < n ? from[k * BLOCK + t + 1] : 0;
    __syncthreads();
    for (int k = 0; k < 4; ++k)
        if (k * BLOCK + t + 1 < n) to[k * BLOCK + t] = kept[k];
}

// bug map: blocks overlap by one element, and store different values there
__global__ void rangesOverlap(const int* in, int* out)
{
    const int i = blockIdx.x * (BLOCK - 1) + threadIdx.x;
    out[i] = in[i] + blockIdx.x;  // RACE a b
}

// ok map: blocks own their ranges
__global__ void rangesApart(const int* in, int* out)
{
    const int i = blockIdx.x * BLOCK + threadIdx.x;
    out[i] = in[i] + blockIdx.x;
}

// ok lastBlock: the CUDA guide's last block, with a volatile array and a fence before the counter
__global__ void lastBlockGuide(const int* in, int* out, volatile int* partial, unsigned int* finished)
{
    __shared__ bool last;
    const int sum = blockSum(in[blockIdx.x * BLOCK + threadIdx.x]);
    if (threadIdx.x == 0) {
        partial[blockIdx.x] = sum;
        __threadfence();
        last = atomicInc(finished, gridDim.x) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && threadIdx.x == 0) {
        int all = 0;
        for (int b = 0; b < gridDim.x; ++b) all += partial[b];
        *out = all;
    }
}

// ok lastBlock: NVIDIA's sample: a fence of the producer, plain loads of the last block
__global__ void lastBlockSample(const int* in, int* out, int* partial, unsigned int* finished)
{
    __shared__ bool last;
    const int t = threadIdx.x, sum = blockSum(in[blockIdx.x * BLOCK + t]);
    if (t == 0) partial[blockIdx.x] = sum;
    __threadfence();
    if (t == 0) last = atomicInc(finished, gridDim.x) == gridDim.x - 1;
    cg::sync(cg::this_thread_block());
    if (last) {
        const int all = blockSum(t < gridDim.x ? partial[t] : 0);
        if (t == 0) *out = all;
    }
}

// ok lastBlock: fences on both sides, a plain array, all threads of the last block read
__global__ void lastBlockFences(const int* in, int* out, int* partial, unsigned int* finished)
{
    __shared__ bool last;
    const int t = threadIdx.x, sum = blockSum(in[blockIdx.x * BLOCK + t]);
    if (t == 0) {
        partial[blockIdx.x] = sum;
        __threadfence();
        last = atomicAdd(finished, 1u) == gridDim.x - 1;
        __threadfence();
    }
    __syncthreads();
    if (last) {
        const int all = blockSum(t < gridDim.x ? partial[t] : 0);
        if (t == 0) *out = all;
    }
}

// ok lastBlock: the same by cuda::atomic_ref, which acquires and releases
__global__ void lastBlockRef(const int* in, int* out, int* partial, unsigned int* finished)
{
    __shared__ bool last;
    const int sum = blockSum(in[blockIdx.x * BLOCK + threadIdx.x]);
    if (threadIdx.x == 0) {
        partial[blockIdx.x] = sum;
        cuda::atomic_ref<unsigned int, cuda::thread_scope_device> counter(*finished);
        last = counter.fetch_add(1u, cuda::memory_order_acq_rel) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && threadIdx.x == 0) {
        int all = 0;
        for (int b = 0; b < gridDim.x; ++b) all += partial[b];
        *out = all;
    }
}

// bug lastBlock: no fence between the partial sum and the counter
__global__ void lastBlockNoFence(const int* in, int* out, int* partial, unsigned int* finished)
{
    __shared__ bool last;
    const int sum = blockSum(in[blockIdx.x * BLOCK + threadIdx.x]);
    if (threadIdx.x == 0) {
        partial[blockIdx.x] = sum;  // RACE a
        last = atomicInc(finished, gridDim.x) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && threadIdx.x == 0) {
        int all = 0;
        for (int b = 0; b < gridDim.x; ++b) all += partial[b];  // RACE b
        *out = all;
    }
}

// bug lastBlock: the fence is behind the counter, which comes too late
__global__ void lastBlockLateFence(const int* in, int* out, int* partial, unsigned int* finished)
{
    __shared__ bool last;
    const int sum = blockSum(in[blockIdx.x * BLOCK + threadIdx.x]);
    if (threadIdx.x == 0) {
        partial[blockIdx.x] = sum;  // RACE a
        last = atomicInc(finished, gridDim.x) == gridDim.x - 1;
        __threadfence();
    }
    __syncthreads();
    if (last && threadIdx.x == 0) {
        int all = 0;
        for (int b = 0; b < gridDim.x; ++b) all += partial[b];  // RACE b
        *out = all;
    }
}

// bug lastBlock: a fence of the block's scope, where another block reads
__global__ void lastBlockBlockFence(const int* in, int* out, int* partial, unsigned int* finished)
{
    __shared__ bool last;
    const int sum = blockSum(in[blockIdx.x * BLOCK + threadIdx.x]);
    if (threadIdx.x == 0) {
        partial[blockIdx.x] = sum;  // RACE a
        __threadfence_block();
        last = atomicInc(finished, gridDim.x) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && threadIdx.x == 0) {
        int all = 0;
        for (int b = 0; b < gridDim.x; ++b) all += partial[b];  // RACE b
        *out = all;
    }
}

// bug lastBlock: a counter of the block's scope, incremented by all blocks
__global__ void lastBlockBlockCounter(const int* in, int* out, int* partial, unsigned int* finished)
{
    __shared__ bool last;
    const int sum = blockSum(in[blockIdx.x * BLOCK + threadIdx.x]);
    if (threadIdx.x == 0) {
        partial[blockIdx.x] = sum;  // RACE a
        __threadfence();
        last = atomicInc_block(finished, gridDim.x) == gridDim.x - 1;  // RACE a b
        __threadfence();
    }
    __syncthreads();
    if (last && threadIdx.x == 0) {
        int all = 0;
        for (int b = 0; b < gridDim.x; ++b) all += partial[b];  // RACE b
        *out = all;
    }
}

// bug lastBlock: relaxed order of the atomic, no fence
__global__ void lastBlockRelaxed(const int* in, int* out, int* partial, unsigned int* finished)
{
    __shared__ bool last;
    const int sum = blockSum(in[blockIdx.x * BLOCK + threadIdx.x]);
    if (threadIdx.x == 0) {
        partial[blockIdx.x] = sum;  // RACE a
        cuda::atomic_ref<unsigned int, cuda::thread_scope_device> counter(*finished);
        last = counter.fetch_add(1u, cuda::memory_order_relaxed) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && threadIdx.x == 0) {
        int all = 0;
        for (int b = 0; b < gridDim.x; ++b) all += partial[b];  // RACE b
        *out = all;
    }
}

// bug lastBlock: the block's other threads read the flag `last` without a barrier
__global__ void lastBlockFlag(const int* in, int* out, int* partial, unsigned int* finished)
{
    __shared__ bool last;
    const int t = threadIdx.x, sum = blockSum(in[blockIdx.x * BLOCK + t]);
    if (t == 0) {
        partial[blockIdx.x] = sum;
        __threadfence();
        last = atomicAdd(finished, 1u) == gridDim.x - 1;  // RACE a
        __threadfence();
    }
    if (last && t == 32) *out = 1;  // RACE b
}

// ok prefix: decoupled look-back; a block takes a ticket, then waits for the inclusive sum of the one before it
__global__ void lookBack(const int* in, int* out, int* sums, int* flags, int* ticket)
{
    __shared__ int mine, before;
    if (threadIdx.x == 0) mine = atomicAdd(ticket, 1);
    __syncthreads();
    const int sum = blockSum(in[mine * BLOCK + threadIdx.x]);
    if (threadIdx.x == 0) {
        before = 0;
        if (mine > 0) {
            while (atomicCAS(&flags[mine - 1], 1, 1) != 1) { }
            __threadfence();
            before = sums[mine - 1];
        }
        sums[mine] = before + sum;
        __threadfence();
        atomicExch(&flags[mine], 1);
        out[mine] = before + sum;
    }
}

// bug prefix: look-back that publishes its sum without a fence
__global__ void lookBackNoFence(const int* in, int* out, int* sums, int* flags, int* ticket)
{
    __shared__ int mine, before;
    if (threadIdx.x == 0) mine = atomicAdd(ticket, 1);
    __syncthreads();
    const int sum = blockSum(in[mine * BLOCK + threadIdx.x]);
    if (threadIdx.x == 0) {
        before = 0;
        if (mine > 0) {
            while (atomicCAS(&flags[mine - 1], 1, 1) != 1) { }
            __threadfence();
            before = sums[mine - 1];  // RACE b
        }
        sums[mine] = before + sum;  // RACE a
        atomicExch(&flags[mine], 1);
        out[mine] = before + sum;
    }
}

// bug prefix: look-back that raises its flag before it stores the sum
__global__ void lookBackFlagFirst(const int* in, int* out, int* sums, int* flags, int* ticket)
{
    __shared__ int mine, before;
    if (threadIdx.x == 0) mine = atomicAdd(ticket, 1);
    __syncthreads();
    const int sum = blockSum(in[mine * BLOCK + threadIdx.x]);
    if (threadIdx.x == 0) {
        before = 0;
        if (mine > 0) {
            while (atomicCAS(&flags[mine - 1], 1, 1) != 1) { }
            __threadfence();
            before = sums[mine - 1];  // RACE b
        }
        atomicExch(&flags[mine], 1);
        __threadfence();
        sums[mine] = before + sum;  // RACE a
        out[mine] = before + sum;
    }
}

// ok prefixPacked: look-back with flag and sum in one word, exchanged by atomics, needs no fence
__global__ void lookBackPacked(const int* in, int* out, int* sums, int* flags, int* ticket)
{
    __shared__ int mine;
    if (threadIdx.x == 0) mine = atomicAdd(ticket, 1);
    __syncthreads();
    const int sum = blockSum(in[mine * BLOCK + threadIdx.x]);
    if (threadIdx.x == 0) {
        int before = 1;  // the sum above the lowest bit, which is the flag
        while (mine > 0 && !((before = atomicCAS(&flags[mine - 1], 0, 0)) & 1)) { }
        atomicExch(&flags[mine], before + 2 * sum);
        out[mine] = (before >> 1) + sum;
    }
}

// ok locked: a lock around a plain addition, with a fence on both sides
__global__ void lockFenced(const int* in, int* out, int* lock)
{
    const int sum = blockSum(in[blockIdx.x * BLOCK + threadIdx.x]);
    if (threadIdx.x == 0) {
        while (atomicCAS(lock, 0, 1) != 0) { }
        __threadfence();
        *out += sum;
        __threadfence();
        atomicExch(lock, 0);
    }
}

// bug locked: a lock without fences orders nothing but itself
__global__ void lockNoFence(const int* in, int* out, int* lock)
{
    const int sum = blockSum(in[blockIdx.x * BLOCK + threadIdx.x]);
    if (threadIdx.x == 0) {
        while (atomicCAS(lock, 0, 1) != 0) { }
        *out += sum;  // RACE a b
        atomicExch(lock, 0);
    }
}

// bug locked: the lock is released without a fence before it, so the fence is on one side only
__global__ void lockFenceOneSide(const int* in, int* out, int* lock)
{
    const int sum = blockSum(in[blockIdx.x * BLOCK + threadIdx.x]);
    if (threadIdx.x == 0) {
        while (atomicCAS(lock, 0, 1) != 0) { }
        __threadfence();
        *out += sum;  // RACE a b
        atomicExch(lock, 0);
    }
}

// bug locked: a lock that is released behind a fence, but acquired without one
__global__ void lockReleaseFence(const int* in, int* out, int* lock)
{
    const int sum = blockSum(in[blockIdx.x * BLOCK + threadIdx.x]);
    if (threadIdx.x == 0) {
        while (atomicCAS(lock, 0, 1) != 0) { }
        *out += sum;  // RACE a b
        __threadfence();
        atomicExch(lock, 0);
    }
}

// ok locked: a lock that is released by a volatile store behind a fence
__global__ void lockVolatile(const int* in, int* out, int* lock)
{
    const int sum = blockSum(in[blockIdx.x * BLOCK + threadIdx.x]);
    if (threadIdx.x == 0) {
        while (atomicCAS(lock, 0, 1) != 0) { }
        __threadfence();
        *out += sum;
        __threadfence();
        *(volatile int*)lock = 0;
    }
}

// bug locked: a lock and fences of the block's scope, taken by several blocks
__global__ void lockBlockScope(const int* in, int* out, int* lock)
{
    const int sum = blockSum(in[blockIdx.x * BLOCK + threadIdx.x]);
    if (threadIdx.x == 0) {
        while (atomicCAS_block(lock, 0, 1) != 0) { }  // RACE a b
        __threadfence_block();
        *out += sum;  // RACE a b
        __threadfence_block();
        atomicExch_block(lock, 0);  // RACE a b
    }
}

// bug locked: fences of the block's scope around a lock of the device
__global__ void lockBlockFences(const int* in, int* out, int* lock)
{
    const int sum = blockSum(in[blockIdx.x * BLOCK + threadIdx.x]);
    if (threadIdx.x == 0) {
        while (atomicCAS(lock, 0, 1) != 0) { }
        __threadfence_block();
        *out += sum;  // RACE a b
        __threadfence_block();
        atomicExch(lock, 0);
    }
}

// bug locked: even and odd blocks take different locks for the same sum
__global__ void lockOther(const int* in, int* out, int* lock)
{
    const int sum = blockSum(in[blockIdx.x * BLOCK + threadIdx.x]);
    if (threadIdx.x == 0) {
        int* own = &lock[blockIdx.x % 2];
        while (atomicCAS(own, 0, 1) != 0) { }
        __threadfence();
        *out += sum;  // RACE a b
        __threadfence();
        atomicExch(own, 0);
    }
}

// bug locked: what the lock protects is read once more behind it
__global__ void lockReadBehind(const int* in, int* out, int* lock)
{
    const int sum = blockSum(in[blockIdx.x * BLOCK + threadIdx.x]);
    if (threadIdx.x == 0) {
        while (atomicCAS(lock, 0, 1) != 0) { }
        __threadfence();
        *out += sum;  // RACE a
        __threadfence();
        atomicExch(lock, 0);
        if (*out < 0) atomicAdd(&lock[1], 1);  // RACE b
    }
}

// bug locked: the lock is taken but released by a plain store
__global__ void lockPlainRelease(const int* in, int* out, int* lock)
{
    const int sum = blockSum(in[blockIdx.x * BLOCK + threadIdx.x]);
    if (threadIdx.x == 0) {
        while (atomicCAS(lock, 0, 1) != 0) { }  // RACE a
        __threadfence();
        *out += sum;  // RACE a b
        __threadfence();
        *lock = 0;  // RACE b
    }
}

// ok lockedBins: a lock for each bin; a warp's first lane adds to its bin
__global__ void lockEachBin(const int* in, int* out, int* lock)
{
    const int t = threadIdx.x, bin = t / 32;
    if (t % 32 > 0) return;
    while (atomicCAS(&lock[bin], 0, 1) != 0) { }
    __threadfence();
    out[bin] += in[blockIdx.x * BLOCK + t];
    __threadfence();
    atomicExch(&lock[bin], 0);
}

// bug lockedBins: a lock for each bin, but blocks do not agree on which is whose
__global__ void lockNextBin(const int* in, int* out, int* lock)
{
    const int t = threadIdx.x, bin = t / 32, other = bin + blockIdx.x;
    if (t % 32 > 0) return;
    while (atomicCAS(&lock[other], 0, 1) != 0) { }
    __threadfence();
    out[bin] += in[blockIdx.x * BLOCK + t];  // RACE a b
    __threadfence();
    atomicExch(&lock[other], 0);
}

// ok ticket: a ticket lock by atomics, with fences
__global__ void ticketLock(const int* in, int* out, int* lock)
{
    const int sum = blockSum(in[blockIdx.x * BLOCK + threadIdx.x]);
    if (threadIdx.x == 0) {
        const int mine = atomicAdd(&lock[0], 1);
        while (atomicCAS(&lock[1], -1, -1) != mine) { }
        __threadfence();
        *out += sum;
        __threadfence();
        atomicExch(&lock[1], mine + 1);
    }
}

// bug locked: a ticket lock that serves the next by a plain increment
__global__ void ticketLockPlain(const int* in, int* out, int* lock)
{
    const int sum = blockSum(in[blockIdx.x * BLOCK + threadIdx.x]);
    if (threadIdx.x == 0) {
        const int mine = atomicAdd(&lock[0], 1);
        while (atomicCAS(&lock[1], -1, -1) != mine) { }  // RACE a
        __threadfence();
        *out += sum;  // RACE a b
        __threadfence();
        lock[1]++;  // RACE b
    }
}

// bug locked: a ticket lock without any fence
__global__ void ticketLockNoFence(const int* in, int* out, int* lock)
{
    const int sum = blockSum(in[blockIdx.x * BLOCK + threadIdx.x]);
    if (threadIdx.x == 0) {
        const int mine = atomicAdd(&lock[0], 1);
        while (atomicCAS(&lock[1], -1, -1) != mine) { }
        *out += sum;  // RACE a b
        atomicExch(&lock[1], mine + 1);
    }
}

// ok handOver: block 0 produces; the others take it if the flag is up, and compute it themselves if not
__global__ void flagFences(const int* in, int* out, int* data, int* flag)
{
    if (threadIdx.x > 0) return;
    if (blockIdx.x == 0) {
        *data = in[0] + 41;
        __threadfence();
        atomicExch(flag, 1);
        out[0] = in[0] + 41;
    } else {
        const int up = atomicAdd(flag, 0);
        __threadfence();
        out[blockIdx.x] = up ? *data : in[0] + 41;
    }
}

// bug handOver: the producer has no fence
__global__ void flagConsumerFence(const int* in, int* out, int* data, int* flag)
{
    if (threadIdx.x > 0) return;
    if (blockIdx.x == 0) {
        *data = in[0] + 41;  // RACE a
        atomicExch(flag, 1);
        out[0] = in[0] + 41;
    } else {
        const int up = atomicAdd(flag, 0);
        __threadfence();
        out[blockIdx.x] = up ? *data : in[0] + 41;  // RACE b
    }
}

// bug handOver: the consumer has no fence
__global__ void flagProducerFence(const int* in, int* out, int* data, int* flag)
{
    if (threadIdx.x > 0) return;
    if (blockIdx.x == 0) {
        *data = in[0] + 41;  // RACE a
        __threadfence();
        atomicExch(flag, 1);
        out[0] = in[0] + 41;
    } else {
        const int up = atomicAdd(flag, 0);
        out[blockIdx.x] = up ? *data : in[0] + 41;  // RACE b
    }
}

// ok handOver: volatile data and flag with fences, as before cuda::atomic
__global__ void flagVolatile(const int* in, int* out, int* data, int* flag)
{
    volatile int *d = data, *f = flag;
    if (threadIdx.x > 0) return;
    if (blockIdx.x == 0) {
        *d = in[0] + 41;
        __threadfence();
        *f = 1;
        out[0] = in[0] + 41;
    } else {
        const int up = *f;
        __threadfence();
        out[blockIdx.x] = up ? *d : in[0] + 41;
    }
}

// ok handOver: a volatile flag with fences, plain data
__global__ void flagVolatilePlainData(const int* in, int* out, int* data, int* flag)
{
    volatile int* f = flag;
    if (threadIdx.x > 0) return;
    if (blockIdx.x == 0) {
        *data = in[0] + 41;
        __threadfence();
        *f = 1;
        out[0] = in[0] + 41;
    } else {
        const int up = *f;
        __threadfence();
        out[blockIdx.x] = up ? *data : in[0] + 41;
    }
}

// bug handOver: a volatile flag without fences
__global__ void flagVolatileNoFence(const int* in, int* out, int* data, int* flag)
{
    volatile int* f = flag;
    if (threadIdx.x > 0) return;
    if (blockIdx.x == 0) {
        *data = in[0] + 41;  // RACE a
        *f = 1;
        out[0] = in[0] + 41;
    } else {
        const int up = *f;
        out[blockIdx.x] = up ? *data : in[0] + 41;  // RACE b
    }
}

// ok handOver: each thread fences its own store, then the barrier, then one thread raises the flag
__global__ void flagEachFence(const int* in, int* out, int* data, int* flag)
{
    __shared__ int up;
    const int t = threadIdx.x;
    if (blockIdx.x == 0) {
        data[t] = in[0] + 41;
        __threadfence();
        __syncthreads();
        if (t == 0) {
            atomicExch(flag, 1);
            out[0] = in[0] + 41;
        }
    } else {
        if (t == 0) up = atomicAdd(flag, 0);
        __syncthreads();
        __threadfence();
        const int value = up ? data[BLOCK - 1 - t] : in[0] + 41;
        if (t == 5) out[blockIdx.x] = value;
    }
}

// bug handOver: the flag itself is neither atomic nor volatile
__global__ void flagPlain(const int* in, int* out, int* data, int* flag)
{
    if (threadIdx.x > 0) return;
    if (blockIdx.x == 0) {
        *data = in[0] + 41;
        __threadfence();
        *flag = 1;  // RACE a
        out[0] = in[0] + 41;
    } else {
        const int up = *flag;  // RACE b
        __threadfence();
        out[blockIdx.x] = up ? *data : in[0] + 41;
    }
}

// bug handOver: the consumer reads the data before it asks for the flag
__global__ void flagTooLate(const int* in, int* out, int* data, int* flag)
{
    if (threadIdx.x > 0) return;
    if (blockIdx.x == 0) {
        *data = in[0] + 41;  // RACE a
        __threadfence();
        atomicExch(flag, 1);
        out[0] = in[0] + 41;
    } else {
        const int early = *data;  // RACE b
        __threadfence();
        out[blockIdx.x] = atomicAdd(flag, 0) ? early : in[0] + 41;
    }
}

// bug handOver: the flag is an atomic of the block's scope
__global__ void flagBlockScope(const int* in, int* out, int* data, int* flag)
{
    if (threadIdx.x > 0) return;
    if (blockIdx.x == 0) {
        *data = in[0] + 41;  // RACE a
        __threadfence();
        atomicExch_block(flag, 1);  // RACE a
        out[0] = in[0] + 41;
    } else {
        const int up = atomicAdd_block(flag, 0);  // RACE b
        __threadfence();
        out[blockIdx.x] = up ? *data : in[0] + 41;  // RACE b
    }
}

// bug handOver: a flag for the first use does not protect the second: the producer stores once more
__global__ void flagStoredAgain(const int* in, int* out, int* data, int* flag)
{
    if (threadIdx.x > 0) return;
    if (blockIdx.x == 0) {
        *data = in[0] + 41;
        __threadfence();
        atomicExch(flag, 1);
        *data = in[0] + 42;  // RACE a
        out[0] = in[0] + 41;
    } else {
        const int up = atomicAdd(flag, 0);
        __threadfence();
        out[blockIdx.x] = up ? *data : in[0] + 41;  // RACE b
    }
}

// ok handOver: a flag by cuda::atomic_ref: release and acquire
__global__ void flagRef(const int* in, int* out, int* data, int* flag)
{
    if (threadIdx.x > 0) return;
    cuda::atomic_ref<int, cuda::thread_scope_device> raised(*flag);
    if (blockIdx.x == 0) {
        *data = in[0] + 41;
        raised.store(1, cuda::memory_order_release);
        out[0] = in[0] + 41;
    } else {
        out[blockIdx.x] = raised.load(cuda::memory_order_acquire) ? *data : in[0] + 41;
    }
}

// bug handOver: a flag by cuda::atomic_ref: released, but the load is relaxed
__global__ void flagRefRelaxed(const int* in, int* out, int* data, int* flag)
{
    if (threadIdx.x > 0) return;
    cuda::atomic_ref<int, cuda::thread_scope_device> raised(*flag);
    if (blockIdx.x == 0) {
        *data = in[0] + 41;  // RACE a
        raised.store(1, cuda::memory_order_release);
        out[0] = in[0] + 41;
    } else {
        out[blockIdx.x] = raised.load(cuda::memory_order_relaxed) ? *data : in[0] + 41;  // RACE b
    }
}

// bug handOver: release and acquire, but of the block's scope
__global__ void flagRefBlock(const int* in, int* out, int* data, int* flag)
{
    if (threadIdx.x > 0) return;
    cuda::atomic_ref<int, cuda::thread_scope_block> raised(*flag);
    if (blockIdx.x == 0) {
        *data = in[0] + 41;  // RACE a
        raised.store(1, cuda::memory_order_release);  // RACE a
        out[0] = in[0] + 41;
    } else {
        out[blockIdx.x] = raised.load(cuda::memory_order_acquire) ? *data : in[0] + 41;  // RACE b
    }
}

// ok handOver: all of the producing block stores; its thread 0 signals behind a barrier and a fence
__global__ void flagForBlock(const int* in, int* out, int* data, int* flag)
{
    __shared__ int up;
    const int t = threadIdx.x;
    if (blockIdx.x == 0) {
        data[t] = in[0] + 41;
        __syncthreads();
        if (t == 0) {
            __threadfence();
            atomicExch(flag, 1);
            out[0] = in[0] + 41;
        }
    } else {
        if (t == 0) {
            up = atomicAdd(flag, 0);
            __threadfence();
        }
        __syncthreads();
        const int value = up ? data[BLOCK - 1 - t] : in[0] + 41;
        if (t == 5) out[blockIdx.x] = value;
    }
}

// bug handOver: all of the producing block stores, but its thread 0 signals without waiting for the others
__global__ void flagForBlockEarly(const int* in, int* out, int* data, int* flag)
{
    __shared__ int up;
    const int t = threadIdx.x;
    if (blockIdx.x == 0) {
        data[t] = in[0] + 41;  // RACE a
        if (t == 0) {
            __threadfence();
            atomicExch(flag, 1);
            out[0] = in[0] + 41;
        }
    } else {
        if (t == 0) {
            up = atomicAdd(flag, 0);
            __threadfence();
        }
        __syncthreads();
        const int value = up ? data[BLOCK - 1 - t] : in[0] + 41;  // RACE b
        if (t == 5) out[blockIdx.x] = value;
    }
}

// ok warpsHandOver: a warp hands over to the other by a flag of the block's scope, which is enough within a block
__global__ void flagWithinBlock(const int* in, int* out)
{
    __shared__ int data, flag;
    const int t = threadIdx.x;
    if (t == 0) flag = 0;
    __syncthreads();
    if (t == 0) {
        data = in[blockIdx.x * BLOCK] + 7;
        __threadfence_block();
        atomicExch_block(&flag, 1);
    } else if (t == 32) {
        while (atomicCAS_block(&flag, 1, 1) != 1) { }
        __threadfence_block();
        out[blockIdx.x] = data;
    }
}

// bug warpsHandOver: the same without fences
__global__ void flagWithinBlockNoFence(const int* in, int* out)
{
    __shared__ int data, flag;
    const int t = threadIdx.x;
    if (t == 0) flag = 0;
    __syncthreads();
    if (t == 0) {
        data = in[blockIdx.x * BLOCK] + 7;  // RACE a
        atomicExch_block(&flag, 1);
    } else if (t == 32) {
        while (atomicCAS_block(&flag, 1, 1) != 1) { }
        out[blockIdx.x] = data;  // RACE b
    }
}

// ok stages: all blocks finish a stage at the grid's barrier
__global__ void gridStages(const int* in, int* out, int* data)
{
    const int i = blockIdx.x * BLOCK + threadIdx.x, n = gridDim.x * BLOCK;
    data[i] = in[i];
    cg::this_grid().sync();
    out[i] = data[n - 1 - i];
}

// bug stages: blocks read what other blocks store, after a barrier of the block
__global__ void gridStagesBlock(const int* in, int* out, int* data)
{
    const int i = blockIdx.x * BLOCK + threadIdx.x, n = gridDim.x * BLOCK;
    data[i] = in[i];  // RACE a
    __syncthreads();
    out[i] = data[n - 1 - i];  // RACE b
}

// ok stagesCounted: a barrier of the grid, written with a counter and fences
__global__ void gridCounter(const int* in, int* out, int* data, int* arrived)
{
    const int i = blockIdx.x * BLOCK + threadIdx.x, n = gridDim.x * BLOCK;
    data[i] = in[i];
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        atomicAdd(arrived, 1);
        while (atomicCAS(arrived, -1, -1) < gridDim.x) { }
        __threadfence();
    }
    __syncthreads();
    out[i] = data[n - 1 - i];
}

// bug stagesCounted: the same barrier without fences
__global__ void gridCounterNoFence(const int* in, int* out, int* data, int* arrived)
{
    const int i = blockIdx.x * BLOCK + threadIdx.x, n = gridDim.x * BLOCK;
    data[i] = in[i];  // RACE a
    __syncthreads();
    if (threadIdx.x == 0) {
        atomicAdd(arrived, 1);
        while (atomicCAS(arrived, -1, -1) < gridDim.x) { }
    }
    __syncthreads();
    out[i] = data[n - 1 - i];  // RACE b
}

// ok twoLaunches: a launch reads what the launch before it stored
__global__ void launchStores(const int* in, int* data)
{
    const int i = blockIdx.x * BLOCK + threadIdx.x;
    data[i] = 2 * in[i];
}
__global__ void launchReads(const int* data, int* out)
{
    const int i = blockIdx.x * BLOCK + threadIdx.x;
    out[i] = data[gridDim.x * BLOCK - 1 - i];
}

// ok handOver: a flag by compare-and-swap, which finds another value: its order is that of a failure
__global__ void flagSwapFails(const int* in, int* out, int* data, int* flag)
{
    if (threadIdx.x > 0) return;
    cuda::atomic_ref<int, cuda::thread_scope_device> raised(*flag);
    if (blockIdx.x == 0) {
        *data = in[0] + 41;
        raised.store(1, cuda::memory_order_release);
        out[0] = in[0] + 41;
    } else {
        int found = 2;
        raised.compare_exchange_strong(found, 3, cuda::memory_order_relaxed, cuda::memory_order_acquire);
        out[blockIdx.x] = found ? *data : in[0] + 41;
    }
}

// bug handOver: the same, but only a compare-and-swap that succeeds acquires
__global__ void flagSwapFailsRelaxed(const int* in, int* out, int* data, int* flag)
{
    if (threadIdx.x > 0) return;
    cuda::atomic_ref<int, cuda::thread_scope_device> raised(*flag);
    if (blockIdx.x == 0) {
        *data = in[0] + 41;  // RACE a
        raised.store(1, cuda::memory_order_release);
        out[0] = in[0] + 41;
    } else {
        int found = 2;
        raised.compare_exchange_strong(found, 3, cuda::memory_order_acquire, cuda::memory_order_relaxed);
        out[blockIdx.x] = found ? *data : in[0] + 41;  // RACE b
    }
}

// ok lastBlock: the counter is acquired and released at once, no fence
__global__ void lastBlockBoth(const int* in, int* out, int* data, unsigned int* finished)
{
    __shared__ int sum;
    __shared__ bool last;
    if (threadIdx.x == 0) sum = 0;
    __syncthreads();
    atomicAdd(&sum, in[blockIdx.x * BLOCK + threadIdx.x]);
    __syncthreads();
    if (threadIdx.x == 0) {
        data[blockIdx.x] = sum;
        cuda::atomic_ref<unsigned int, cuda::thread_scope_device> counter(*finished);
        last = counter.fetch_add(1, cuda::memory_order_acq_rel) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && threadIdx.x == 7) {
        int all = 0;
        for (unsigned b = 0; b < gridDim.x; ++b) all += data[b];
        out[0] = all;
    }
}

// bug lastBlock: the counter is acquired, but never released
__global__ void lastBlockAcquireOnly(const int* in, int* out, int* data, unsigned int* finished)
{
    __shared__ int sum;
    __shared__ bool last;
    if (threadIdx.x == 0) sum = 0;
    __syncthreads();
    atomicAdd(&sum, in[blockIdx.x * BLOCK + threadIdx.x]);
    __syncthreads();
    if (threadIdx.x == 0) {
        data[blockIdx.x] = sum;  // RACE a
        cuda::atomic_ref<unsigned int, cuda::thread_scope_device> counter(*finished);
        last = counter.fetch_add(1, cuda::memory_order_acquire) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && threadIdx.x == 7) {
        int all = 0;
        for (unsigned b = 0; b < gridDim.x; ++b) all += data[b];  // RACE b
        out[0] = all;
    }
}
