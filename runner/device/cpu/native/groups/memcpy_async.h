// cooperative_groups::memcpy_async: each thread of the group copies its part.
#pragma once

#include "../libcu/copies.h"
#include "groups.h"

namespace cooperative_groups {

template <class Group, class Element, class Size>
inline void memcpy_async(const Group& group, Element* to, const Element* from, const Size& bytes, SIMT_CALLED_FROM) {
    simt::copy_part(group, to, from, bytes, alignof(simt::ByteIfVoid<Element>), nullptr, line, file);
    simt::commit_copies();
}
// Counts are in elements.
template <class Group, class Element, class ToCount, class FromCount>
inline void memcpy_async(const Group& group, Element* to, const ToCount& room, const Element* from,
                         const FromCount& count, SIMT_CALLED_FROM) {
    const size_t least = size_t(room) < size_t(count) ? size_t(room) : size_t(count);
    simt::copy_part(group, to, from, least * sizeof(Element), alignof(Element), nullptr, line, file);
    simt::commit_copies();
}

template <unsigned batches_left, class Group>
inline void wait_prior(const Group& group, SIMT_CALLED_FROM) {
    simt::finish_copies(batches_left);
    group.sync(line, file);
}
template <class Group>
inline void wait(const Group& group, SIMT_CALLED_FROM) {
    simt::finish_copies(0);
    group.sync(line, file);
}

}  // namespace cooperative_groups
