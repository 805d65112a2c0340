// Loads, stores and updates of inline PTX with their order and scope: as cuda::atomic_ref.
// The line before a kernel says its kind, the setup of races.yaml, and what is wrong. RACE a and RACE b mark the two sides.

// A block hands 41 over to the others through `data`; ORDER is what the reader and the writer of the flag do.
#define HAND_OVER(WRITE, READ)                                        \
    if (threadIdx.x != 0) return;                                     \
    if (blockIdx.x == 0) {                                            \
        data[0] = 41;                                                 \
        WRITE;                                                        \
        out[0] = 41;                                                  \
        return;                                                       \
    }                                                                 \
    int seen = 0;                                                     \
    while (seen == 0) READ;

// ok handOver: st.release and ld.acquire
__global__ void releaseAcquire(int* out, int* data, int* flag)
{
    HAND_OVER(asm volatile("st.release.gpu.global.u32 [%0], %1;" :: "l"(flag), "r"(1) : "memory"),
              asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(flag) : "memory"))
    out[blockIdx.x] = data[0];
}

// bug handOver: the release is relaxed
__global__ void relaxedAcquire(int* out, int* data, int* flag)
{
    if (threadIdx.x != 0) return;
    if (blockIdx.x == 0) {
        data[0] = 41;  // RACE a
        asm volatile("st.relaxed.gpu.global.u32 [%0], %1;" :: "l"(flag), "r"(1) : "memory");
        out[0] = 41;
        return;
    }
    int seen = 0;
    while (seen == 0) asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(flag) : "memory");
    out[blockIdx.x] = data[0];  // RACE b
}

// bug handOver: the acquire is in the sight of its own block
__global__ void acquireOfBlock(int* out, int* data, int* flag)
{
    if (threadIdx.x != 0) return;
    if (blockIdx.x == 0) {
        data[0] = 41;
        asm volatile("st.release.gpu.global.u32 [%0], %1;" :: "l"(flag), "r"(1) : "memory");  // RACE a
        out[0] = 41;
        return;
    }
    int seen = 0;
    while (seen == 0) asm volatile("ld.acquire.cta.global.u32 %0, [%1];" : "=r"(seen) : "l"(flag) : "memory");  // RACE b
    out[blockIdx.x] = data[0];
}

// ok handOver: relaxed accesses with fences
__global__ void relaxedWithFences(int* out, int* data, int* flag)
{
    HAND_OVER(asm volatile("fence.acq_rel.gpu; st.relaxed.gpu.u32 [%0], %1;" :: "l"(flag), "r"(1) : "memory"),
              asm volatile("ld.relaxed.gpu.u32 %0, [%1]; fence.acq_rel.gpu;" : "=r"(seen) : "l"(flag) : "memory"))
    out[blockIdx.x] = data[0];
}

// bug handOver: the writer's fence is one of its block
__global__ void relaxedWithFenceOfBlock(int* out, int* data, int* flag)
{
    if (threadIdx.x != 0) return;
    if (blockIdx.x == 0) {
        data[0] = 41;  // RACE a
        asm volatile("fence.acq_rel.cta; st.relaxed.gpu.u32 [%0], %1;" :: "l"(flag), "r"(1) : "memory");
        out[0] = 41;
        return;
    }
    int seen = 0;
    while (seen == 0) asm volatile("ld.relaxed.gpu.u32 %0, [%1]; fence.acq_rel.gpu;" : "=r"(seen) : "l"(flag) : "memory");
    out[blockIdx.x] = data[0];  // RACE b
}

// ok handOver: volatile accesses with membar
__global__ void volatileWithFences(int* out, int* data, int* flag)
{
    HAND_OVER(asm volatile("membar.gl; st.volatile.global.u32 [%0], %1;" :: "l"(flag), "r"(1) : "memory"),
              asm volatile("ld.volatile.global.u32 %0, [%1]; membar.gl;" : "=r"(seen) : "l"(flag) : "memory"))
    out[blockIdx.x] = data[0];
}

// bug handOver: the reader's volatile load has no fence
__global__ void volatileNoFence(int* out, int* data, int* flag)
{
    if (threadIdx.x != 0) return;
    if (blockIdx.x == 0) {
        data[0] = 41;  // RACE a
        asm volatile("membar.gl; st.volatile.global.u32 [%0], %1;" :: "l"(flag), "r"(1) : "memory");
        out[0] = 41;
        return;
    }
    int seen = 0;
    while (seen == 0) asm volatile("ld.volatile.global.u32 %0, [%1];" : "=r"(seen) : "l"(flag) : "memory");
    out[blockIdx.x] = data[0];  // RACE b
}

// bug handOver: the flag is stored and loaded plainly
__global__ void weakFlag(int* out, int* data, int* flag)
{
    if (threadIdx.x != 0) return;
    if (blockIdx.x == 0) {
        data[0] = 41;
        asm volatile("membar.gl; st.weak.global.u32 [%0], %1;" :: "l"(flag), "r"(1) : "memory");  // RACE a
        out[0] = 41;
        return;
    }
    int seen = 0;
    while (seen == 0) asm volatile("ld.relaxed.gpu.u32 %0, [%1]; membar.gl;" : "=r"(seen) : "l"(flag) : "memory");  // RACE b
    out[blockIdx.x] = data[0];
}

// ok handOver: an update that releases, and one that acquires
__global__ void updates(int* out, int* data, int* flag)
{
    HAND_OVER(asm volatile("red.release.gpu.global.add.u32 [%0], %1;" :: "l"(flag), "r"(1) : "memory"),
              asm volatile("atom.acquire.gpu.global.cas.b32 %0, [%1], 5, 5;" : "=r"(seen) : "l"(flag) : "memory"))
    out[blockIdx.x] = data[0];
}

// bug handOver: the update does not release
__global__ void updatesRelaxed(int* out, int* data, int* flag)
{
    if (threadIdx.x != 0) return;
    if (blockIdx.x == 0) {
        data[0] = 41;  // RACE a
        asm volatile("red.relaxed.gpu.global.add.u32 [%0], %1;" :: "l"(flag), "r"(1) : "memory");
        out[0] = 41;
        return;
    }
    int seen = 0;
    while (seen == 0) asm volatile("atom.acq_rel.gpu.global.or.b32 %0, [%1], 0;" : "=r"(seen) : "l"(flag) : "memory");
    out[blockIdx.x] = data[0];  // RACE b
}

// ok total: red without an order
__global__ void sums(const int* in, int* out)
{
    const int value = in[blockIdx.x * blockDim.x + threadIdx.x];
    asm volatile("red.global.add.s32 [%0], %1;" :: "l"(out), "r"(value) : "memory");
}

// bug total: red in the sight of its block, on what all blocks share
__global__ void sumsOfBlock(const int* in, int* out)
{
    const int value = in[blockIdx.x * blockDim.x + threadIdx.x];
    asm volatile("red.relaxed.cta.global.add.s32 [%0], %1;" :: "l"(out), "r"(value) : "memory");  // RACE a b
}

// ok handOver: the functions of CUDA 12.8
__global__ void builtins(int* out, int* data, int* flag)
{
    HAND_OVER(__nv_atomic_store_n(flag, 1, __NV_ATOMIC_RELEASE, __NV_THREAD_SCOPE_DEVICE),
              __nv_atomic_load(flag, &seen, __NV_ATOMIC_ACQUIRE, __NV_THREAD_SCOPE_DEVICE))
    out[blockIdx.x] = data[0];
}

// bug handOver: the store of CUDA 12.8 is relaxed
__global__ void builtinsRelaxed(int* out, int* data, int* flag)
{
    if (threadIdx.x != 0) return;
    if (blockIdx.x == 0) {
        data[0] = 41;  // RACE a
        __nv_atomic_store_n(flag, 1, __NV_ATOMIC_RELAXED, __NV_THREAD_SCOPE_DEVICE);
        out[0] = 41;
        return;
    }
    while (__nv_atomic_load_n(flag, __NV_ATOMIC_ACQUIRE, __NV_THREAD_SCOPE_DEVICE) == 0) {
    }
    out[blockIdx.x] = data[0];  // RACE b
}

// ok total: an addition of CUDA 12.8, and a loop of its compare-and-swaps
__global__ void builtinSums(const int* in, int* out)
{
    const int value = in[blockIdx.x * blockDim.x + threadIdx.x];
    if (threadIdx.x % 2) {
        __nv_atomic_add(out, value, __NV_ATOMIC_RELAXED, __NV_THREAD_SCOPE_DEVICE);
    } else {
        int before = __nv_atomic_load_n(out, __NV_ATOMIC_RELAXED, __NV_THREAD_SCOPE_DEVICE);
        while (!__nv_atomic_compare_exchange_n(out, &before, before + value, true, __NV_ATOMIC_RELAXED, __NV_ATOMIC_RELAXED,
                                               __NV_THREAD_SCOPE_DEVICE)) {
        }
    }
}

// bug total: an addition of CUDA 12.8 in the sight of its thread alone
__global__ void builtinSumsOfThread(const int* in, int* out)
{
    const int value = in[blockIdx.x * blockDim.x + threadIdx.x];
    __nv_atomic_fetch_add(out, value, __NV_ATOMIC_RELAXED, __NV_THREAD_SCOPE_THREAD);  // RACE a b
}
