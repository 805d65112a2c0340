// What barriers, atomics and pipelines of libcu++ do; tests/test_groups.py knows what has to come out.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
#include <cuda/atomic>
#include <cuda/barrier>
#include <cuda/cmath>
#include <cuda/functional>
#include <cuda/pipeline>
#include <cuda/std/array>
#include <cuda/std/bit>
#include <cuda/std/chrono>
#include <cuda/std/complex>
#include <cuda/std/limits>
#include <cuda/std/span>
#include <cuda/std/tuple>
#include <cuda/std/type_traits>
#include <cuda/std/utility>
#include <cuda_pipeline.h>

namespace cg = cooperative_groups;

using Barrier = cuda::barrier<cuda::thread_scope_block>;

// A chain of warps: each waits for a barrier at which only the warp before it arrives, or has all arrive and go on.
extern "C" __global__ void barriers(int* out)
{
#pragma nv_diag_suppress static_var_with_dynamic_init
    __shared__ Barrier all, chain[4], shrinking;
    __shared__ int values[128];
    const auto block = cg::this_thread_block();
    const int t = threadIdx.x, warp = t / 32;
    if (t == 0) {
        init(&all, blockDim.x);
        init(&shrinking, blockDim.x);
        for (Barrier& link : chain) init(&link, 32);
    }
    block.sync();
    values[t] = t;
    Barrier::arrival_token token = all.arrive();
    int sum = 0;  // work between arriving and waiting
    for (int i = 0; i < 10; ++i) sum += i;
    all.wait(cuda::std::move(token));
    sum += values[127 - t];

    if (warp > 0) chain[warp].wait_parity(false);
    values[t] = warp == 0 ? t : values[t - 32] + 1;
    if (warp < 3) (void)chain[warp + 1].arrive();
    all.arrive_and_wait();
    sum += 1000 * values[96 + t % 32];

    if (t >= 64) {
        shrinking.arrive_and_drop();
    } else {
        for (int round = 0; round < 3; ++round) shrinking.arrive_and_wait();
    }
    auto last = all.arrive();
    while (!all.try_wait_for(Barrier::arrival_token(last), cuda::std::chrono::nanoseconds(100))) { }
    out[t] = sum;
}

struct Count {
    int* phases;
    __device__ void operator()() const { ++*phases; }
};

// Barriers with a function for the last to arrive.
extern "C" __global__ void completions(int* out)
{
    using Counting = cuda::barrier<cuda::thread_scope_block, Count>;
    __shared__ alignas(Counting) char storage[sizeof(Counting)];
    __shared__ int phases;
    Counting& barrier = *reinterpret_cast<Counting*>(storage);
    if (threadIdx.x == 0) {
        phases = 0;
        init(&barrier, blockDim.x, Count{&phases});
    }
    __syncthreads();
    for (int i = 0; i < 5; ++i) barrier.arrive_and_wait();
    out[threadIdx.x] = phases;
}

// Every thread of every block; one kind of operation for each counter.
extern "C" __global__ void atomics(int* ints, unsigned long long* longs, float* floats)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    using Device = cuda::atomic_ref<int, cuda::thread_scope_device>;
    Device(ints[0]).fetch_add(i, cuda::memory_order_relaxed);
    Device(ints[1]).fetch_sub(1, cuda::std::memory_order_acq_rel);
    Device(ints[2]).fetch_max((i * 7919) % 5003);
    Device(ints[3]).fetch_min((i * 7919) % 5003 - 9000);
    Device(ints[4]).fetch_or(1 << i % 20);
    Device(ints[5]).fetch_and(~(1 << i % 20));
    Device(ints[6]).fetch_xor(i);
    ++Device(ints[7]);
    cuda::atomic_ref<int>(ints[8]) += 2;
    cuda::atomic<int, cuda::thread_scope_system>& whole = reinterpret_cast<cuda::atomic<int>&>(ints[9]);
    int seen = whole.load(cuda::memory_order_acquire);
    while (!whole.compare_exchange_weak(seen, seen + 3, cuda::memory_order_acq_rel, cuda::memory_order_relaxed)) { }
    if (i == 0) Device(ints[10]).store(77, cuda::memory_order_release);
    if (i == 5) ints[11] = Device(ints[12]).exchange(4);
    cuda::atomic_ref<unsigned long long, cuda::thread_scope_device>(longs[0]).fetch_add(1ull << 33);
    cuda::atomic_ref<float, cuda::thread_scope_device>(floats[0]).fetch_add(0.5f);
    cuda::atomic_ref<float, cuda::thread_scope_block> own(floats[1 + i]);
    own.fetch_max(float(i % 9));
    cuda::atomic_thread_fence(cuda::memory_order_seq_cst, cuda::thread_scope_device);

    __shared__ cuda::atomic<int, cuda::thread_scope_block> total;
    if (threadIdx.x == 0) total.store(0);
    __syncthreads();
    const auto warp = cg::tiled_partition<32>(cg::this_thread_block());
    cg::reduce_update_async(warp, total, 1, cg::plus<int>());
    __syncthreads();
    if (threadIdx.x == 0) Device(ints[13]).fetch_add(total.load());
    __syncthreads();
    const int place = cg::exclusive_scan_update(warp, total, 1);
    Device(ints[14]).fetch_add(place);  // the places are 0, 1, ... behind the first total
}

// A lock that the threads of a block take in turns: those that spin let the others run.
extern "C" __global__ void locks(int* out)
{
    __shared__ cuda::atomic<int, cuda::thread_scope_block> lock;
    __shared__ int guarded;
    if (threadIdx.x == 0) {
        lock.store(0);
        guarded = 0;
    }
    __syncthreads();
    for (bool done = false; !done;) {
        int open = 0;
        if (lock.compare_exchange_strong(open, 1, cuda::memory_order_acquire)) {
            const int before = *(volatile int*)&guarded;
            for (int i = 0; i < 70; ++i) (void)lock.load();  // meanwhile others find it taken
            *(volatile int*)&guarded = before + 1;
            lock.store(0, cuda::memory_order_release);
            done = true;
        }
    }
    __syncthreads();
    __shared__ int plain;
    if (threadIdx.x == 0) plain = 0;
    __syncthreads();
    for (bool done = false; !done;) {
        if (threadIdx.x % 2 ? atomicCAS(&plain, 0, 1) == 0 : atomicExch(&plain, 1) == 0) {
            __threadfence_block();
            const int before = *(volatile int*)&guarded;
            for (int i = 0; i < 70; ++i) (void)lock.load();  // meanwhile others find it taken
            *(volatile int*)&guarded = before + 1;
            __threadfence_block();
            atomicExch(&plain, 0);
            done = true;
        }
    }
    __syncthreads();
    out[threadIdx.x] = guarded;
    // One thread waits for another's word.
    if (threadIdx.x == 0) lock.wait(0);
    if (threadIdx.x == 40) {
        lock.store(1);
        lock.notify_all();
    }
}

// Two stages, which all threads fill and empty.
extern "C" __global__ void pipelines(const int* in, int* out, int tiles)
{
    constexpr int STAGES = 2;
    extern __shared__ int buffer[];
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, STAGES> state;
    const auto block = cg::this_thread_block();
    auto pipeline = cuda::make_pipeline(block, &state);
    const int n = block.size();
    int sum = 0;
    for (int filled = 0, i = 0; i < tiles; ++i) {
        for (; filled < tiles && filled < i + STAGES; ++filled) {
            pipeline.producer_acquire();
            cuda::memcpy_async(block, buffer + filled % STAGES * n, in + filled * n,
                               cuda::aligned_size_t<16>(sizeof(int) * n), pipeline);
            pipeline.producer_commit();
        }
        pipeline.consumer_wait();
        sum += (i + 1) * buffer[i % STAGES * n + (threadIdx.x + 1) % n];
        pipeline.consumer_release();
    }
    out[threadIdx.x] = sum;
}

// The first warp fills, the others empty.
extern "C" __global__ void roles(const int* in, int* out, int tiles)
{
    constexpr int STAGES = 3;
    extern __shared__ int buffer[];
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, STAGES> state;
    const auto block = cg::this_thread_block();
    const bool fills = threadIdx.x < 32;
    const int n = block.size();
    auto pipeline =
        cuda::make_pipeline(block, &state, fills ? cuda::pipeline_role::producer : cuda::pipeline_role::consumer);
    int sum = 0;
    for (int i = 0; i < tiles; ++i) {
        int* const stage = buffer + i % STAGES * n;
        if (fills) {
            pipeline.producer_acquire();
            for (int k = threadIdx.x; k < n; k += 32) cuda::memcpy_async(stage + k, in + i * n + k, 4, pipeline);
            pipeline.producer_commit();
        } else {
            pipeline.consumer_wait();
            sum += (i + 1) * stage[(threadIdx.x + 1) % n] + (threadIdx.x < 64 ? stage[threadIdx.x - 32] : 0);
            pipeline.consumer_release();
        }
    }
    out[threadIdx.x] = sum;
}

// Copies of single threads: by a pipeline of their own, by the functions of <cuda_pipeline.h>, and by a barrier.
extern "C" __global__ void ownCopies(const int* in, int* out)
{
    __shared__ __align__(16) int buffer[4][64];
    __shared__ Barrier barrier;
    const int t = threadIdx.x;
    if (t == 0) init(&barrier, blockDim.x);
    __syncthreads();
    auto pipeline = cuda::make_pipeline();
    pipeline.producer_acquire();
    cuda::memcpy_async(&buffer[0][t], in + t, sizeof(int), pipeline);
    pipeline.producer_commit();
    cuda::memcpy_async(&buffer[1][t], in + 64 + t, sizeof(int), pipeline);
    pipeline.producer_commit();
    cuda::pipeline_consumer_wait_prior<1>(pipeline);
    int sum = buffer[0][t];
    pipeline.consumer_wait();
    sum += 2 * buffer[1][t];
    pipeline.consumer_release();

    if (t < 16) __pipeline_memcpy_async(&buffer[2][4 * t], in + 128 + 4 * t, 16);
    __pipeline_commit();
    if (t < 16) __pipeline_memcpy_async(&buffer[3][4 * t], in + 192 + 4 * t, 16, 8);  // the last two are zeros
    __pipeline_commit();
    __pipeline_wait_prior(1);
    __syncthreads();
    sum += 3 * buffer[2][63 - t];
    __pipeline_wait_prior(0);
    __syncthreads();
    sum += 4 * buffer[3][63 - t];
    __syncthreads();

    cuda::memcpy_async(&buffer[0][t], in + 63 - t, sizeof(int), barrier);
    barrier.arrive_and_wait();
    sum += 5 * buffer[0][(t + 1) % 64];
    __syncthreads();
    cuda::memcpy_async(cg::this_thread_block(), buffer[1], in + 64, sizeof(int) * 64, barrier);
    auto token = barrier.arrive();
    barrier.wait(cuda::std::move(token));
    out[t] = sum + 6 * buffer[1][63 - t];
}

template <class Number>
__device__ cuda::std::enable_if_t<cuda::std::is_integral_v<Number>, Number> halved(Number x) { return x / 2; }

extern "C" __global__ void standard(float* out)
{
    const int t = threadIdx.x;
    cuda::std::array<int, 4> a = {t, 2, 3, 4};
    cuda::std::complex<float> z(1.0f, float(t));
    z *= cuda::std::complex<float>(0.0f, 1.0f);
    const cuda::std::span<int> view(a.data(), a.size());
    int sum = 0;
    for (const int x : view) sum += x;
    const auto pair = cuda::std::make_tuple(t, 2.5f);
    float* row = out + 12 * t;
    row[0] = sum + a.size();
    row[1] = z.real();
    row[2] = z.imag() + cuda::std::abs(cuda::std::complex<float>(3.0f, 4.0f));
    row[3] = cuda::std::min(t, 7) + cuda::std::max(1.5f, 0.5f);
    row[4] = cuda::std::numeric_limits<float>::max() > 1e38f ? cuda::std::numeric_limits<short>::lowest() : 0;
    row[5] = cuda::std::popcount(unsigned(t)) + 100 * cuda::std::countl_zero(1u);
    row[6] = cuda::std::get<0>(pair) + cuda::std::get<1>(pair);
    row[7] = halved(t);
    row[8] = cuda::ceil_div(t + 1, 4);
    row[9] = cuda::maximum<int>()(t, 3) + cuda::minimum<>()(t, 3);
    row[10] = cuda::std::bit_cast<unsigned>(1.0f) >> 23;
    row[11] = cuda::std::isnan(cuda::std::numeric_limits<float>::quiet_NaN()) + cuda::std::sqrt(float(t * t));
}
