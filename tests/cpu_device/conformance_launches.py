"""The launches that the CPU device and a real GPU must agree on; shared by the tests and by `record_on_gpu.py`."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

KERNELS = Path(__file__).parent / "kernels"
FULL = 0xFFFFFFFF
MASKS = (FULL, 0x0000FFFF, 0xAAAAAAAA, 0xFF00FF0F)
VOTE_MASKS = (*MASKS, 0x0FF0FF0F, 0x00000010, 0x80000001)
WIDTHS = (1, 2, 4, 8, 16, 32)
ARGUMENTS = (*range(65), 95, 100, 1000, 2**31 - 1, -1, -2, -7, -31, -32, -33, -(2**31))
KINDS = ("idx", "up", "down", "xor")


@dataclass(frozen=True)
class Out:
    """An array that a kernel writes."""

    dtype: str
    count: int
    initial: int = 0  # what all elements are before the launch

    def array(self) -> np.ndarray[Any, Any]:
        """Its content before the launch."""
        return np.full(self.count, self.initial, self.dtype)


Argument = Out | np.ndarray[Any, Any] | np.generic


@dataclass(frozen=True)
class ConformanceLaunch:
    """One launch."""

    function: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    arguments: tuple[Argument, ...] = field(repr=False)  # inputs, outputs and scalars, in order
    file: str = "conformance.cu"  # in `kernels/`
    label: str = ""  # tells launches of the same kernel apart

    @property
    def name(self) -> str:
        """Unique among all launches."""
        return f"{self.function}{self.label}"


def shuffle_cases() -> list[tuple[int, int, int, int]]:
    """(kind, width, argument, mask) of each block of `shuffleCases`."""
    return list(itertools.product(range(len(KINDS)), WIDTHS, ARGUMENTS, MASKS))


def source_lane(kind: int, width: int, argument: int, lane: int) -> int:
    """The lane that a shuffle reads, after the pseudo code of `shfl.sync` in the PTX manual."""
    bval = argument & 0x1F
    clamp = 0 if KINDS[kind] == "up" else 0x1F
    segmask = 32 - width
    max_lane = (lane & segmask) | (clamp & ~segmask)
    min_lane = lane & segmask
    if KINDS[kind] == "up":
        j = lane - bval
        in_range = j >= max_lane
    elif KINDS[kind] == "down":
        j = lane + bval
        in_range = j <= max_lane
    elif KINDS[kind] == "xor":
        j = lane ^ bval
        in_range = j <= max_lane
    else:
        j = min_lane | (bval & ~segmask & 0x1F)
        in_range = j <= max_lane
    return j if in_range else lane


def _shuffles() -> ConformanceLaunch:
    kinds, widths, arguments, masks = zip(*shuffle_cases(), strict=True)
    tables = [np.array(column, np.int32) for column in (kinds, widths, arguments)]
    count = len(kinds)
    out = Out("int32", 32 * count, -9)
    return ConformanceLaunch("shuffleCases", (count, 1, 1), (32, 1, 1), (*tables, np.array(masks, np.uint32), out))


def _integers() -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    special = [0, 1, 2, 31, 32, 33, 0x7FFFFFFF, 0x80000000, 0x80000001, 0xFFFFFFFF, 0x00FFFFFF, 0x01000000, 0xDEADBEEF]
    pairs = list(itertools.product(special, special))
    drawn = np.random.default_rng(7).integers(0, 2**32, (256 - len(pairs), 2), np.uint32)
    both = np.concatenate([np.array(pairs, np.uint32), drawn])
    return np.ascontiguousarray(both[:, 0]), np.ascontiguousarray(both[:, 1])


def _floats() -> np.ndarray[Any, Any]:
    special = [0.0, 0.5, 1.5, 2.5, -0.5, -1.5, 1e9, 3e9, -3e9, 5e9, 1e19, -1e19, 2e19, np.inf, -np.inf, 1e-40]
    drawn = np.random.default_rng(8).normal(0, 1000, 64 - len(special))
    return np.concatenate([special, drawn]).astype(np.float32)


def launches() -> Iterator[ConformanceLaunch]:
    """All of them."""
    one, warp = (1, 1, 1), (32, 1, 1)
    masks = np.array(VOTE_MASKS, np.uint32)
    each_mask = (len(masks), 1, 1)
    yield _shuffles()
    types = ("float64", "float32", "uint64", "int64", "uint32", "int16", "uint8")
    yield ConformanceLaunch("shuffleTypes", one, warp, tuple(Out(dtype, 32) for dtype in types))
    yield ConformanceLaunch("votes", each_mask, warp, (masks, Out("uint32", 32 * 4 * len(masks))))
    yield ConformanceLaunch("matches", each_mask, warp, (masks, Out("uint32", 32 * 6 * len(masks))))
    reduced = Out("uint32", 32 * 9 * len(masks))
    yield ConformanceLaunch("warpReductions", each_mask, warp, (masks, reduced), "reductions.cu")
    yield ConformanceLaunch("divergentGroups", one, warp, (Out("int32", 32),))
    yield ConformanceLaunch("barrierCounts", one, (256, 1, 1), (Out("int32", 256),))
    yield ConformanceLaunch("barrierAfterExit", one, (100, 1, 1), (Out("int32", 100),))
    yield ConformanceLaunch("splitSites", one, warp, (Out("int32", 32),))
    for alive in (1, 17, 20, 31, 32):
        yield ConformanceLaunch("exitedLanes", one, warp, (Out("int32", 32), np.int32(alive)), label=f"-{alive}")
    vectors = np.arange(4 * 64, dtype=np.float32) / 4
    outs = (Out("float32", 4 * 64), Out("uint32", 2 * 64), Out("float64", 2 * 64), Out("uint8", 4 * 64))
    yield ConformanceLaunch("vectorTypes", (2, 1, 1), warp, (vectors, *outs, Out("int32", 12)))
    yield ConformanceLaunch("integerIntrinsics", (8, 1, 1), warp, (*_integers(), Out("uint32", 24 * 256)))
    yield ConformanceLaunch("conversions", (2, 1, 1), warp, (_floats(), Out("int64", 12 * 64)))
    numbers = np.random.default_rng(9).integers(-50, 50, 5000).astype(np.int32)
    totals = (Out("int32", 16), Out("uint32", 32), Out("uint64", 1), Out("float32", 1), Out("float64", 1))
    yield ConformanceLaunch("atomicTotals", (20, 1, 1), (256, 1, 1), (numbers, *totals, np.int32(5000)))
    yield ConformanceLaunch("dimensions", (2, 3, 2), (5, 3, 4), (Out("uint32", 12 * 60),))
