// A counter that the thread which finds it full resets by a plain write: an atomic update comes after the earlier ones.
// The line before a kernel says its kind, the setup of races.yaml, and what is wrong. RACE a and RACE b mark the two sides.
#include <cuda/atomic>

// ok reset: atomicInc, and a plain reset by the last block
__global__ void resetInc(int* out, unsigned int* counter)
{
    if (threadIdx.x != 0) return;
    atomicAdd(out, 1);
    if (atomicInc(counter, 1000) == gridDim.x - 1) *counter = 0;
}

// bug reset: the block that came second to last resets it, while the last one may still add
__global__ void resetIncEarly(int* out, unsigned int* counter)
{
    if (threadIdx.x != 0) return;
    atomicAdd(out, 1);
    const unsigned int before = atomicInc(counter, 1000);  // RACE a
    if (before == gridDim.x - 2) *counter = 0;  // RACE b
    if (before == gridDim.x - 1) atomicExch(counter, 0u);  // RACE a
}

// ok reset: atomicDec, which wraps to a large number first
__global__ void resetDec(int* out, unsigned int* counter)
{
    if (threadIdx.x != 0) return;
    atomicAdd(out, 1);
    if (atomicDec(counter, 1000) == 1001 - gridDim.x + 1) *counter = 0;
}

// ok reset: a loop of compare-and-swaps
__global__ void resetSwap(int* out, unsigned int* counter)
{
    if (threadIdx.x != 0) return;
    atomicAdd(out, 1);
    unsigned int before = 0, seen;
    while ((seen = atomicCAS(counter, before, before + 1)) != before) before = seen;
    if (before == gridDim.x - 1) *counter = 0;
}

// ok reset: a maximum of floats, which hardware makes of a loop
__global__ void resetFloat(int* out, unsigned int* counter)
{
    if (threadIdx.x != 0) return;
    atomicAdd(out, 1);
    if (atomicAdd((float*)counter, 1.0f) == gridDim.x - 1) *(float*)counter = 0.0f;
}

// ok reset: blocks exchange, and the last one is told by what it gets
__global__ void resetExchange(int* out, unsigned int* counter)
{
    if (threadIdx.x != 0) return;
    atomicAdd(out, 1);
    unsigned int seen;
    do seen = atomicExch(counter, 1000u);
    while (seen == 1000u);
    if (seen == gridDim.x - 1) {
        *counter = 0;
    } else {
        atomicExch(counter, seen + 1);
    }
}

// bug reset: the same counter by a cuda::atomic_ref in the sight of its thread alone
__global__ void resetRefOfThread(int* out, unsigned int* counter)
{
    if (threadIdx.x != 0) return;
    atomicAdd(out, 1);
    cuda::atomic_ref<unsigned int, cuda::thread_scope_thread> count(*counter);
    if (count.fetch_add(1, cuda::memory_order_relaxed) == gridDim.x - 1) *counter = 0;  // RACE a b
}

// ok reset: the same counter by cuda::atomic_ref
__global__ void resetRef(int* out, unsigned int* counter)
{
    if (threadIdx.x != 0) return;
    atomicAdd(out, 1);
    cuda::atomic_ref<unsigned int, cuda::thread_scope_device> count(*counter);
    if (count.fetch_add(1, cuda::memory_order_relaxed) == gridDim.x - 1) *counter = 0;
}

// ok total: an atomic in the sight of the block beside one of the device: other threads may run in the midst of each
__global__ void twoScopes(const int* in, int* out)
{
    __shared__ int s;
    if (threadIdx.x == 0) s = 0;
    __syncthreads();
    const int value = in[blockIdx.x * blockDim.x + threadIdx.x];
    atomicAdd_block(&s, value);
    atomicAdd(out, value);
}

// The programming guide's addition of doubles. Its first look is plain, and the compare-and-swap proves what it saw.
__device__ double addByLoop(double* address, double value)
{
    unsigned long long* const word = (unsigned long long*)address;
    unsigned long long old = *word, assumed;
    do {
        assumed = old;
        old = atomicCAS(word, assumed, __double_as_longlong(value + __longlong_as_double(assumed)));
    } while (assumed != old);
    return __longlong_as_double(old);
}

// ok doubles: additions by the programming guide's loop
__global__ void guidesLoop(const int* in, double* out)
{
    addByLoop(out, in[blockIdx.x * blockDim.x + threadIdx.x]);
}

// bug doubles: a plain look at the sum afterwards, which nothing proves
__global__ void looksAfterwards(const int* in, double* out)
{
    unsigned long long* const word = (unsigned long long*)out;
    unsigned long long old = *word, assumed;
    do {
        assumed = old;
        old = atomicCAS(word, assumed,  // RACE b
                        __double_as_longlong(in[blockIdx.x * blockDim.x + threadIdx.x] + __longlong_as_double(assumed)));
    } while (assumed != old);
    if (*out < 0) atomicAdd(out, 1.0);  // RACE a
}
