// cuda::pipeline, and the functions of <cuda_pipeline.h>.
#pragma once

#include "barrier.h"

namespace cuda {

enum class pipeline_role { producer, consumer };

namespace details {
template <thread_scope scope>
struct PipelineStage {
    barrier<scope> produced;
    barrier<scope> consumed;
};
}  // namespace details

template <thread_scope scope, uint8_t stages>
class pipeline_shared_state {
public:
    pipeline_shared_state() = default;
    pipeline_shared_state(const pipeline_shared_state&) = delete;
    pipeline_shared_state& operator=(const pipeline_shared_state&) = delete;

    details::PipelineStage<scope> stages_[stages];
    atomic<uint32_t, scope> count_;
};

// Each stage has two barriers: the producers arrive at one when they have filled it, the consumers at the other when
// they have emptied it.
template <thread_scope scope>
class pipeline {
public:
    pipeline(pipeline&&) = default;
    pipeline(const pipeline&) = delete;
    pipeline& operator=(pipeline&&) = delete;
    pipeline& operator=(const pipeline&) = delete;

    void producer_acquire(SIMT_CALLED_FROM) { stages_[head_].consumed.wait_parity(consumed_parity_, line, file); }
    void producer_commit(SIMT_CALLED_FROM) {
        simt::bind_copies(&stages_[head_].produced);
        (void)stages_[head_].produced.arrive(1, line, file);
        if (++head_ < count_) return;
        head_ = 0;
        consumed_parity_ = !consumed_parity_;
    }
    void consumer_wait(SIMT_CALLED_FROM) { stages_[tail_].produced.wait_parity(produced_parity_, line, file); }
    template <class Duration>
    bool consumer_wait_for(const Duration&, SIMT_CALLED_FROM) {
        consumer_wait(line, file);
        return true;
    }
    void consumer_release(SIMT_CALLED_FROM) {
        (void)stages_[tail_].consumed.arrive(1, line, file);
        if (++tail_ < count_) return;
        tail_ = 0;
        produced_parity_ = !produced_parity_;
    }
    bool quit() { return false; }

private:
    template <class Group, thread_scope any_scope, uint8_t stages>
    friend pipeline<any_scope> make_pipeline(const Group&, pipeline_shared_state<any_scope, stages>*, int, const char*);
    template <class Group, thread_scope any_scope, uint8_t stages>
    friend pipeline<any_scope> make_pipeline(const Group&, pipeline_shared_state<any_scope, stages>*, size_t, int,
                                             const char*);
    template <class Group, thread_scope any_scope, uint8_t stages>
    friend pipeline<any_scope> make_pipeline(const Group&, pipeline_shared_state<any_scope, stages>*, pipeline_role, int,
                                             const char*);

    pipeline(details::PipelineStage<scope>* stages, unsigned count) : stages_(stages), count_(count) {}

    details::PipelineStage<scope>* stages_;
    unsigned count_;
    unsigned head_ = 0, tail_ = 0;
    bool consumed_parity_ = true;  // the phase before the first one: all stages are empty
    bool produced_parity_ = false;
};

namespace details {
template <class Group, thread_scope scope, uint8_t stages>
inline void begin_stages(const Group& group, pipeline_shared_state<scope, stages>* state, size_t producers,
                         size_t consumers, int line, const char* file) {
    if (group.thread_rank() == 0) {
        for (PipelineStage<scope>& stage : state->stages_) {
            init(&stage.produced, ptrdiff_t(producers), line, file);
            init(&stage.consumed, ptrdiff_t(consumers), line, file);
        }
    }
    group.sync(line, file);
}
}  // namespace details

// All threads are producers and consumers.
template <class Group, thread_scope scope, uint8_t stages>
inline pipeline<scope> make_pipeline(const Group& group, pipeline_shared_state<scope, stages>* state,
                                     SIMT_CALLED_FROM) {
    details::begin_stages(group, state, group.size(), group.size(), line, file);
    return pipeline<scope>(state->stages_, stages);
}
template <class Group, thread_scope scope, uint8_t stages>
inline pipeline<scope> make_pipeline(const Group& group, pipeline_shared_state<scope, stages>* state, size_t producers,
                                     SIMT_CALLED_FROM) {
    details::begin_stages(group, state, producers, group.size() - producers, line, file);
    return pipeline<scope>(state->stages_, stages);
}
template <class Group, thread_scope scope, uint8_t stages>
inline pipeline<scope> make_pipeline(const Group& group, pipeline_shared_state<scope, stages>* state,
                                     pipeline_role role, SIMT_CALLED_FROM) {
    if (group.thread_rank() == 0) state->count_.store(0);
    group.sync(line, file);
    if (role == pipeline_role::producer) state->count_.fetch_add(1);
    group.sync(line, file);
    const size_t producers = state->count_.load();
    details::begin_stages(group, state, producers, group.size() - producers, line, file);
    return pipeline<scope>(state->stages_, stages);
}

// Of one thread: it waits for its own copies.
template <>
class pipeline<thread_scope_thread> {
public:
    pipeline(pipeline&&) = default;
    pipeline(const pipeline&) = delete;
    pipeline& operator=(const pipeline&) = delete;

    void producer_acquire() {}
    void producer_commit() {
        simt::commit_copies();
        ++head_;
    }
    void consumer_wait() {
        if (head_ == tail_) return;
        simt::finish_copies(head_ - tail_ - 1);
        ++tail_;
    }
    template <class Duration>
    bool consumer_wait_for(const Duration&) {
        consumer_wait();
        return true;
    }
    void consumer_release() {}
    bool quit() { return true; }

private:
    pipeline() = default;
    friend pipeline<thread_scope_thread> make_pipeline();
    template <uint8_t prior>
    friend void pipeline_consumer_wait_prior(pipeline<thread_scope_thread>&);

    size_t head_ = 0, tail_ = 0;  // batches that are committed, and waited for
};

inline pipeline<thread_scope_thread> make_pipeline() { return pipeline<thread_scope_thread>(); }

template <uint8_t prior>
inline void pipeline_consumer_wait_prior(pipeline<thread_scope_thread>& of) {
    simt::finish_copies(prior);
    of.tail_ = of.head_ - prior;
}
template <thread_scope scope>
inline void pipeline_producer_commit(pipeline<thread_scope_thread>&, barrier<scope>& ends_with) {
    simt::bind_copies(&ends_with);
}

template <class Group, class Element, class Size, thread_scope scope>
inline void memcpy_async(const Group& group, Element* to, const Element* from, Size bytes, pipeline<scope>&,
                         SIMT_CALLED_FROM) {
    simt::copy_part(group, to, from, bytes, alignof(simt::ByteIfVoid<Element>), nullptr, line, file);
}
template <class Element, class Size, thread_scope scope>
inline void memcpy_async(Element* to, const Element* from, Size bytes, pipeline<scope>& of, SIMT_CALLED_FROM) {
    memcpy_async(simt::SingleThread(), to, from, bytes, of, line, file);
}

}  // namespace cuda

// ---- <cuda_pipeline.h> ----

inline void __pipeline_memcpy_async(void* to, const void* from, size_t size, size_t zeros = 0, SIMT_CALLED_FROM) {
    if ((size != 4 && size != 8 && size != 16) || zeros > size) {
        simt::violation(line, file, "__pipeline_memcpy_async of %zu bytes, %zu of them zeros: it copies 4, 8 or 16 bytes",
                        size, zeros);
    }
    if ((uintptr_t(to) | uintptr_t(from)) % size) {
        simt::violation(line, file, "__pipeline_memcpy_async of %zu bytes: both addresses must be multiples of that", size);
    }
    simt::copy_later(to, from, size - zeros, zeros, nullptr);
}
inline void __pipeline_commit() { simt::commit_copies(); }
inline void __pipeline_wait_prior(size_t batches_left) { simt::finish_copies(batches_left); }
