"""The source lane of warp shuffles, for references, pictures and tests.

It follows the PTX instruction `shfl.sync` (PTX ISA, "Data Movement and Conversion Instructions: shfl.sync") with the
constants that CUDA's headers pass to it. The argument counts modulo 32.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

WARP = 32
MOST_RECEIVED = 128  # elements whose sources a row records: four warps, or one warp with four elements per lane

# The operation of a shuffle kernel, and the intrinsic that it calls. `wrap` is __shfl_sync whose source is the lane's
# own number plus the argument. `swap` exchanges one element of each lane's array with a partner's.
INTRINSICS = {
    "idx": "__shfl_sync",
    "wrap": "__shfl_sync",
    "up": "__shfl_up_sync",
    "down": "__shfl_down_sync",
    "xor": "__shfl_xor_sync",
    "swap": "__shfl_xor_sync",
}

Lanes = NDArray[np.int64]


def source_lanes(operation: str, lanes: Any, argument: int, width: int) -> Lanes:
    """The source lane of each of `lanes` (an array of 0 to 31, of any shape) when the whole warp participates.

    The argument is the intrinsic's third one (source lane, delta or lane mask), or `wrap`'s offset; any integer. A
    segment has `width` lanes: 1, 2, 4, 8, 16 or 32. A lane whose source would lie outside its segment receives its own
    register. `xor` may reach an earlier segment, but not a later one.
    """
    if operation not in INTRINSICS:
        raise ValueError(f"{operation} is not a shuffle; allowed: {', '.join(INTRINSICS)}")
    lanes = np.asarray(lanes, np.int64)
    first, by = lanes & ~(width - 1), argument % WARP
    last = first + width - 1
    sources: dict[str, Lanes] = {
        "idx": first + (by & (width - 1)),
        "wrap": first + ((lanes + by) & (width - 1)),
        "up": np.where(lanes - by >= first, lanes - by, lanes),
        "down": np.where(lanes + by <= last, lanes + by, lanes),
        "xor": np.where(lanes ^ by <= last, lanes ^ by, lanes),
        "swap": np.where(lanes ^ by <= last, lanes ^ by, lanes),
    }
    return sources[operation]


def taking_part(lane: Any, mask: int) -> NDArray[np.bool_]:
    """Whether each lane is in the mask; the others do not call the intrinsic."""
    return (mask >> np.asarray(lane, np.int64) & 1).astype(bool)


@dataclass(frozen=True)
class Exchange:
    """The expected exchange of a block's shuffle: an entry per element, `per_thread` of them for each thread."""

    source: Lanes  # the index in the block of the element that each one receives, shape (block * per_thread,)
    defined: NDArray[np.bool_]  # whether CUDA defines what it receives
    calls: NDArray[np.bool_]  # whether its lane participates


def exchange(
    operation: str,
    argument: int,
    width: int,
    mask: int,
    block: int,
    per_thread: int = 1,
    swapped: tuple[int, int] = (0, 0),
) -> Exchange:
    """The expected exchange of a block's shuffle.

    A lane outside the mask does not call and keeps its own elements. A lane that reads from a lane outside the mask or
    outside the block receives undefined values (CUDA C++ Programming Guide, "Warp Shuffle Functions").

    Args:
        operation: One of `INTRINSICS`, with the argument and the width as for `source_lanes`.
        argument: Of `swap` a power of two.
        width: Lanes of a segment.
        mask: The participating lanes.
        block: Threads of the block. The last warp may be partial.
        per_thread: Elements of a thread, each shuffled by itself.
        swapped: For `swap`: the elements that the lower and the upper lane of a pair give.
    """
    thread = np.arange(block)
    lane = thread % WARP
    calls = taking_part(lane, mask)
    from_lane = source_lanes(operation, lane, argument, width)
    from_thread = np.where(calls, thread - lane + from_lane, thread)
    sound = ~calls | (taking_part(from_lane, mask) & (from_thread < block))
    slot = np.broadcast_to(np.arange(per_thread), (block, per_thread))
    source = from_thread[:, None] * per_thread + slot
    given = np.ones((block, per_thread), bool)
    if operation == "swap":
        lower = (lane & argument == 0)[:, None]
        own, partners = (np.where(lower, swapped[i], swapped[1 - i]) for i in (0, 1))
        given = slot == own
        # A lane without a partner, or one that does not call, keeps its own: its second swap undoes the first.
        paired = (calls & (from_lane != lane))[:, None]
        partners_element = from_thread[:, None] * per_thread + partners
        source = np.where(given & paired, partners_element, thread[:, None] * per_thread + slot)
    return Exchange(source.ravel(), (~given | sound[:, None]).ravel(), np.repeat(calls, per_thread))


def exchange_of(operation: str, argument: int, parameters: Mapping[str, int | float | str]) -> Exchange:
    """`exchange` with a kernel's parameters: `block`, `width` and `mask`; `per_thread`, `first`, `second`."""
    names = ("width", "mask", "block", "first", "second")
    width, mask, block, first, second = (int(parameters.get(n, 0)) for n in names)
    return exchange(operation, argument, width, mask, block, int(parameters.get("per_thread", 1)), (first, second))


def received(given: NDArray[Any], got: NDArray[Any]) -> list[int | None]:
    """The index in the input of each element of the output (or of its beginning): `Exchange.source` as measured.

    Both have the shape (n,), or (n, 2) for elements of two numbers. An index is `None` for a value that the input
    lacks; there are none if two elements of the input are equal.
    """
    index = {element.tobytes(): i for i, element in enumerate(given)}
    return [index.get(element.tobytes()) for element in got] if len(index) == len(given) else []
