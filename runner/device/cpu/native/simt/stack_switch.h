// Switching from one lane's stack to another's.
//
// The switch is inline at the point of suspension, and is a jump rather than a call:
//   * the compiler saves only the values that are alive there, since the whole register file counts as clobbered;
//   * calls and returns stay paired, so that the CPU's return predictor keeps working;
//   * each suspension point has an indirect jump of its own, which predicts well: lanes come by in the same order.
// It pushes, so the code around it must not use a red zone (-mno-red-zone).
#pragma once

#if defined(SIMT_PORTABLE_SWITCH) || !(defined(__x86_64__) || defined(__aarch64__))

#define SIMT_SWITCH_IS_PORTABLE 1

namespace simt {
// For other CPUs: swapcontext, about twenty times slower.
__attribute__((visibility("default"))) void switch_stack(void** save_here, void* resume);
}  // namespace simt

#elif defined(__x86_64__)

namespace simt {

#ifdef __AVX512F__
#define SIMT_AVX512_REGISTERS                                                                                      \
    , "xmm16", "xmm17", "xmm18", "xmm19", "xmm20", "xmm21", "xmm22", "xmm23", "xmm24", "xmm25", "xmm26", "xmm27", \
        "xmm28", "xmm29", "xmm30", "xmm31", "k1", "k2", "k3", "k4", "k5", "k6", "k7"
#else
#define SIMT_AVX512_REGISTERS
#endif

// Saves the stack pointer in `*save_here` with the frame pointer and the address to come back to on the stack, and
// jumps to the address that lies on the stack `resume`.
inline __attribute__((always_inline)) void switch_stack(void** save_here, void* resume) {
    __asm__ volatile(
        "pushq %%rbp\n\t"
        "leaq 1f(%%rip), %%rax\n\t"
        "pushq %%rax\n\t"
        "movq %%rsp, (%0)\n\t"
        "movq %1, %%rsp\n\t"
        "popq %%rax\n\t"
        "jmpq *%%rax\n"
        "1:\n\t"
        "popq %%rbp"
        : "+D"(save_here), "+S"(resume)
        :
        : "rax", "rbx", "rcx", "rdx", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "cc", "memory",
          "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12",
          "xmm13", "xmm14", "xmm15" SIMT_AVX512_REGISTERS);
}

#undef SIMT_AVX512_REGISTERS

}  // namespace simt

#else  // aarch64

namespace simt {

#ifdef __APPLE__
#define SIMT_PLATFORM_REGISTER  // x18 belongs to the system there
#else
#define SIMT_PLATFORM_REGISTER "x18",
#endif

// x29 (frame pointer) and x19 (which compilers use as a base pointer) cannot be clobbered, so they go to the stack.
inline __attribute__((always_inline)) void switch_stack(void** save_here, void* resume) {
    register void** first __asm__("x0") = save_here;
    register void* second __asm__("x1") = resume;
    __asm__ volatile(
        "adr x9, 1f\n\t"
        "stp x29, x9, [sp, #-32]!\n\t"
        "str x19, [sp, #16]\n\t"
        "mov x10, sp\n\t"
        "str x10, [x0]\n\t"
        "mov sp, x1\n\t"
        "ldr x19, [sp, #16]\n\t"
        "ldp x29, x9, [sp], #32\n\t"
        "br x9\n"
        "1:"
        : "+r"(first), "+r"(second)
        :
        : "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11", "x12", "x13", "x14", "x15", "x16", "x17",
          SIMT_PLATFORM_REGISTER "x20", "x21", "x22", "x23", "x24", "x25", "x26", "x27", "x28", "x30", "cc", "memory",
          "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v10", "v11", "v12", "v13", "v14", "v15", "v16",
          "v17", "v18", "v19", "v20", "v21", "v22", "v23", "v24", "v25", "v26", "v27", "v28", "v29", "v30", "v31");
}

#undef SIMT_PLATFORM_REGISTER

}  // namespace simt

#endif
