// Barriers of a block, and memory fences.
#pragma once

inline void __syncthreads(SIMT_CALLED_FROM) { simt::barrier(simt::Operation::barrier, false, line, file); }

#define SIMT_COUNTING_BARRIER(NAME, OPERATION)                                       \
    inline int NAME(int predicate, SIMT_CALLED_FROM) {                               \
        simt::barrier(simt::Operation::OPERATION, predicate != 0, line, file);       \
        return simt::barrier_result(simt::Operation::OPERATION);                     \
    }
SIMT_COUNTING_BARRIER(__syncthreads_count, barrier_count)
SIMT_COUNTING_BARRIER(__syncthreads_and, barrier_and)
SIMT_COUNTING_BARRIER(__syncthreads_or, barrier_or)
#undef SIMT_COUNTING_BARRIER

// A block runs on one OS thread: within it only the compiler can reorder.
inline void __threadfence_block() { __atomic_signal_fence(__ATOMIC_SEQ_CST); }
inline void __threadfence() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
inline void __threadfence_system() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
