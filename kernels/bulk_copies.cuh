// Bulk copies from global into shared memory, and the barriers that signal their completion, in inline PTX.
// CUDA C++ Programming Guide, "Asynchronous Data Copies using the Tensor Memory Accelerator"; PTX ISA, "cp.async.bulk",
// "mbarrier". They need sm_90.
#pragma once

typedef unsigned long long Barrier;  // in shared memory; its phase ends when all expected bytes have arrived

__device__ inline unsigned int shared_address(const void* pointer)
{
    return (unsigned int)__cvta_generic_to_shared(pointer);
}

__device__ inline void prepare(Barrier* barrier)
{
    asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(shared_address(barrier)) : "memory");
}

// Call after the last `prepare`: makes the barriers visible to the copy hardware.
__device__ inline void prepared()
{
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

// Starts a copy; addresses and length are multiples of 16 bytes. One thread calls it.
__device__ inline void ask_for(void* to, const void* from, unsigned int bytes, Barrier* barrier)
{
    const unsigned int told = shared_address(barrier);
    asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(told), "r"(bytes) : "memory");
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                     shared_address(to)),
                 "l"(from), "r"(bytes), "r"(told)
                 : "memory");
}

// Waits for the end of a phase; phases are numbered 0, 1, 0, 1, ...
__device__ inline void wait_for(Barrier* barrier, unsigned int phase)
{
    asm volatile(
        "{\n"
        ".reg .pred there;\n"
        "again_%=: mbarrier.try_wait.parity.shared.b64 there, [%0], %1;\n"
        "@!there bra again_%=;\n"
        "}" ::"r"(shared_address(barrier)),
        "r"(phase)
        : "memory");
}
