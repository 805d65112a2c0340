#include <cuda/atomic>
extern "C" __global__ void atomics(int* out)
{
    cuda::atomic_ref<int, cuda::thread_scope_device> first(out[0]);
    atomicCAS(&out[1], -1, 5);
    first.store(7, cuda::memory_order_relaxed);
    const int read = first.load(cuda::memory_order_relaxed);
    if (read == 7) out[2] = read;
}
