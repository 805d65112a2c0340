// Bulk copies from global into shared memory, and the barriers that tell of their end, by inline PTX.
// CUDA C++ Programming Guide, "Asynchronous Data Copies using the Tensor Memory Accelerator"; PTX ISA, "cp.async.bulk",
// "mbarrier". They need sm_90.
#pragma once

typedef unsigned long long Barrier;  // in shared memory; its phase ends when all bytes that it waits for are there

__device__ inline unsigned int shared_address(const void* pointer)
{
    return (unsigned int)__cvta_generic_to_shared(pointer);
}

__device__ inline void prepare(Barrier* barrier)
{
    asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(shared_address(barrier)) : "memory");
}

// After the last `prepare`: the hardware that copies sees the barriers, too.
__device__ inline void prepared()
{
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

// Begins to copy; addresses and length are multiples of 16 bytes. One thread asks for all.
__device__ inline void ask_for(void* to, const void* from, unsigned int bytes, Barrier* barrier)
{
    const unsigned int told = shared_address(barrier);
    asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(told), "r"(bytes) : "memory");
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                     shared_address(to)),
                 "l"(from), "r"(bytes), "r"(told)
                 : "memory");
}

// Waits for the end of a phase, which count 0, 1, 0, 1, ...
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
