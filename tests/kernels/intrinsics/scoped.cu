#define relaxed __NV_ATOMIC_RELAXED  // nvcc takes literals alone
#define both __NV_ATOMIC_ACQ_REL
#define device __NV_THREAD_SCOPE_DEVICE

extern "C" __global__ void kernel(unsigned *words, float *sum, int *flags)
{
    const unsigned t = threadIdx.x;
    __nv_atomic_add(words, 2u, relaxed, device);
    flags[1 + __nv_atomic_fetch_sub(words + 1, 1u, both, __NV_THREAD_SCOPE_BLOCK)] = 1;
    __nv_atomic_min(words + 2, t, relaxed);
    __nv_atomic_fetch_max(words + 3, t, __NV_ATOMIC_SEQ_CST, device);
    __nv_atomic_fetch_and(words + 4, ~(1u << t % 32), relaxed, device);
    __nv_atomic_or(words + 5, 1u << t % 32, relaxed, device);
    __nv_atomic_xor(words + 6, t, relaxed, device);
    __nv_atomic_fetch_add(sum, 0.5f, relaxed, device);
    __nv_atomic_thread_fence(both, device);
    unsigned seen, next, ours = 1, before;
    __nv_atomic_load(words + 7, &seen, __NV_ATOMIC_ACQUIRE, device);
    do next = seen + 3;
    while (!__nv_atomic_compare_exchange(words + 7, &seen, &next, false, both, __NV_ATOMIC_ACQUIRE, device));
    __nv_atomic_exchange(words + 8, &ours, &before, both, device);
    float four = 4, two;
    if (before == 7) {
        __nv_atomic_exchange(sum + 1, &four, &two, relaxed, device);
        flags[0] = two == 2 && __nv_atomic_exchange_n(words + 9, 6u, relaxed, device) == 0;
    }
    if (t == 0) {
        __nv_atomic_store_n(words + 11, 5u, __NV_ATOMIC_RELEASE, device);
        __nv_atomic_store(words + 10, &ours, relaxed);
    }
}
