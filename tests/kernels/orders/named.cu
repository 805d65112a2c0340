// Named barriers of inline PTX: warps of a block that wait for each other, but not for all.
// The line before a kernel says its kind, the setup of races.yaml, and what is wrong. RACE a and RACE b mark the two sides.

// All of a block of 64: two warps.
__device__ inline void sync(int barrier, int threads) { asm volatile("bar.sync %0, %1;" :: "r"(barrier), "r"(threads) : "memory"); }
__device__ void arrive(int barrier, int threads) { asm volatile("bar.arrive %0, %1;" :: "r"(barrier), "r"(threads) : "memory"); }

// ok reversed: one barrier of both warps
__global__ void namedSync(const int* in, int* out)
{
    __shared__ int s[64];
    const int t = threadIdx.x;
    s[t] = in[blockIdx.x * 64 + t];
    asm volatile("barrier.cta.sync.aligned 1;" ::: "memory");
    out[blockIdx.x * 64 + t] = s[63 - t];
}

// bug reversed: each warp has a barrier of its own
__global__ void namedAlone(const int* in, int* out)
{
    __shared__ int s[64];
    const int t = threadIdx.x;
    s[t] = in[blockIdx.x * 64 + t];  // RACE a
    sync(1 + t / 32, 32);
    out[blockIdx.x * 64 + t] = s[63 - t];  // RACE b
}

// ok doubled: the producer's warp arrives when a buffer is full, the consumer's when it is empty again
__global__ void namedPipeline(const int* in, int* out)
{
    __shared__ int buffer[2][32];
    const int t = threadIdx.x % 32;
    if (threadIdx.x < 32) {
        for (int i = 0; i < 4; ++i) {
            if (i >= 2) sync(3 + i % 2, 64);
            buffer[i % 2][t] = 2 * in[32 * i + t];
            arrive(1 + i % 2, 64);
        }
    } else {
        for (int i = 0; i < 4; ++i) {
            sync(1 + i % 2, 64);
            out[32 * i + t] = buffer[i % 2][t ^ 1];
            if (i < 2) arrive(3 + i % 2, 64);
        }
    }
}

// bug doubled: the producer waits for one of the two buffers only
__global__ void namedPipelineFull(const int* in, int* out)
{
    __shared__ int buffer[2][32];
    const int t = threadIdx.x % 32;
    if (threadIdx.x < 32) {
        for (int i = 0; i < 4; ++i) {
            if (i == 3) sync(5, 64);
            buffer[i % 2][t] = 2 * in[32 * i + t];  // RACE a
            arrive(1 + i, 64);
        }
    } else {
        for (int i = 0; i < 4; ++i) {
            sync(1 + i, 64);
            out[32 * i + t] = buffer[i % 2][t ^ 1];  // RACE b
            if (i == 1) arrive(5, 64);
        }
    }
}

// bug doubled: what the producer writes after it has arrived is not handed over
__global__ void namedLate(const int* in, int* out)
{
    __shared__ int buffer[4][32];
    const int t = threadIdx.x % 32;
    for (int i = 0; i < 4; ++i) {
        if (threadIdx.x < 32) {
            arrive(1 + i, 64);
            buffer[i][t] = 2 * in[32 * i + t];  // RACE a
        } else {
            sync(1 + i, 64);
            out[32 * i + t] = buffer[i][t ^ 1];  // RACE b
        }
    }
}

// ok threeWarps: a third warp passes on what it was told, by two barriers
__global__ void namedChain(const int* in, int* out)
{
    __shared__ int s[64];
    const int t = threadIdx.x;
    if (t < 64) {
        s[t] = in[blockIdx.x * 64 + t];
        arrive(1, 96);
        sync(2, 96);
        out[blockIdx.x * 64 + t] = s[63 - t];
    } else {
        sync(1, 96);
        arrive(2, 96);
    }
}

// bug threeWarps: the third warp answers before it was told
__global__ void namedChainEarly(const int* in, int* out)
{
    __shared__ int s[64];
    const int t = threadIdx.x;
    if (t < 64) {
        s[t] = in[blockIdx.x * 64 + t];  // RACE a
        arrive(1 + t / 32, 64);
        sync(3 + t / 32, 64);
        out[blockIdx.x * 64 + t] = s[63 - t];  // RACE b
    } else {
        arrive(3, 64);
        arrive(4, 64);
        sync(1, 64);
        sync(2, 64);
    }
}

// ok threeWarps: a barrier of all threads does not wait for a warp that has returned
__global__ void namedReturned(const int* in, int* out)
{
    __shared__ int s[64];
    const int t = threadIdx.x;
    if (t >= 64) return;
    s[t] = in[blockIdx.x * 64 + t];
    asm volatile("bar.sync 7;" ::: "memory");
    out[blockIdx.x * 64 + t] = s[63 - t];
}

// bug threeWarps: as many threads as the barrier waits for do not come
__global__ void namedNeverComplete(const int* in, int* out)
{
    const int t = threadIdx.x;
    if (t < 64) asm volatile("bar.sync 1, 96;" ::: "memory");  // BARRIER
    if (t < 64) out[blockIdx.x * 64 + t] = in[blockIdx.x * 64 + 63 - t];
}

// bug threeWarps: two warps name different numbers of threads for a barrier
__global__ void namedTwoNumbers(const int* in, int* out)
{
    const int t = threadIdx.x;
    if (t < 32) asm volatile("bar.sync 1, 64;" ::: "memory");  // BARRIER
    else if (t < 64) asm volatile("bar.sync 1, 96;" ::: "memory");  // BARRIER
    if (t < 64) out[blockIdx.x * 64 + t] = in[blockIdx.x * 64 + 63 - t];
}
