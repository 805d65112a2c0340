"""References of the reductions: sums."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from runner.bounds.rounding import Arithmetic, grain, is_float, wider
from runner.kernel.lanes import WARP, taking_part
from runner.kernel.reference import Array, Expected, ExpectedArray, Inputs, Parameters, cached_per_array

Grid = tuple[int, int, int]


def block_sums(inputs: Inputs, parameters: Parameters, grid: Grid) -> Expected:
    """The sum of each block: of integers exact modulo 2**bits, of floats in higher precision.

    Block b takes elements [b * block * unroll, (b + 1) * block * unroll). Elements of lanes outside the mask are left
    out; element i belongs to lane i % 32, as blocks have whole warps.

    Args:
        inputs: `in`, shape (size,).
        parameters: `block`; `unroll` and `mask` where the kernel has them.
        grid: One block for each partial sum.

    Returns:
        `out`, shape (grid,). The value is NumPy's sum, with the time that it took.
    """
    x = inputs["in"]
    mask = int(parameters.get("mask", 0xFFFFFFFF))
    if mask != 0xFFFFFFFF:
        x = np.where(np.resize(taking_part(np.arange(WARP), mask), x.shape), x, x.dtype.type(0))
    return _partial(x, int(parameters["block"]) * int(parameters.get("unroll", 1)), grid[0])


def chosen_block_sums(inputs: Inputs, parameters: Parameters, grid: Grid) -> Expected:
    """As `block_sums`, for a given number of `blocks`, which share the elements evenly."""
    block = int(parameters["block"])
    return _partial(inputs["in"], -(-len(inputs["in"]) // (grid[0] * block)) * block, grid[0])


def vector_block_sums(inputs: Inputs, parameters: Parameters, grid: Grid) -> Expected:
    """As `block_sums`, with `unroll` vectors of 16 bytes for each thread: block b sums up tile b."""
    return _partial(inputs["in"], _vector_tile(inputs["in"], parameters), grid[0])


def strided_block_sums(inputs: Inputs, parameters: Parameters, grid: Grid) -> Expected:
    """As `vector_block_sums`, but block b sums up the tiles b, b + grid, b + 2 * grid, ..."""
    x, blocks = inputs["in"], grid[0]
    tile = _vector_tile(x, parameters)
    tiles = _partial(x, tile, -(-len(x) // tile))
    out = tiles.outputs["out"]
    magnitude = None if out.magnitude is None else _strided(out.magnitude, blocks)
    depth = -(-len(x) // blocks) + tile
    expected = ExpectedArray(_strided(out.values, blocks), magnitude, depth=depth, granule=out.granule)
    return Expected({"out": expected}, tiles.value, tiles.seconds)


def _vector_tile(x: Array, parameters: Parameters) -> int:
    return int(parameters["block"]) * int(parameters.get("unroll", 1)) * (16 // x.itemsize)


def _strided(sums: Array, blocks: int) -> Array:
    """The sums of every `blocks`-th element, one for each of the first `blocks`."""
    rows = np.zeros((-(-len(sums) // blocks), blocks), sums.dtype)
    rows.reshape(-1)[: len(sums)] = sums
    return np.asarray(rows.sum(axis=0, dtype=sums.dtype))


def whole_sum(inputs: Inputs, parameters: Parameters, grid: Grid) -> Expected:
    """The sum of all elements: as `block_sums`, with `out` of shape (1,)."""
    _ = parameters, grid
    return _partial(inputs["in"], len(inputs["in"]), 1)


def _partial(x: Array, per_block: int, blocks: int) -> Expected:
    value, seconds = cached_per_array(x, "sum", lambda: _timed_sum(x))
    wide = wider(x.dtype)
    sums = _by_warps(x, "warps", lambda: x, per_block, blocks, wide)
    if not is_float(x.dtype):
        return Expected({"out": ExpectedArray(sums.astype(x.dtype))}, value, seconds)
    magnitude = _by_warps(x, "magnitudes", lambda: np.abs(x), per_block, blocks, np.dtype(np.float64))
    return Expected({"out": ExpectedArray(sums, magnitude, depth=per_block, granule=_granule(x))}, value, seconds)


def _granule(x: Array) -> float | None:
    """The power of two of which all elements are multiples; sums that are not much larger are exact in any order."""
    found = cached_per_array(x, "granule", lambda: grain(x, Arithmetic(x.dtype).digits))
    return found[0] if found else None


def _timed_sum(x: Array) -> tuple[int | float, float]:
    started = time.perf_counter()
    value = np.sum(x, dtype=np.float64 if is_float(x.dtype) else x.dtype).item()
    return value, time.perf_counter() - started


def _by_warps(
    x: Array, what: str, terms: Callable[[], Array], per_block: int, blocks: int, wide: np.dtype[Any]
) -> Array:
    """Sums of blocks from the sums of their warps, which are the same for all block sizes."""
    if per_block % WARP:
        return _sums(terms(), per_block, blocks, wide)
    warps = cached_per_array(x, what, lambda: _sums(terms(), WARP, -(-len(x) // WARP), wide))
    return _sums(warps, per_block // WARP, blocks, wide)


def segment_scans(inputs: Inputs, parameters: Parameters, grid: Grid) -> Expected:
    """Inclusive sums within the segments of `width` lanes: `out`, shaped as `in`; see `_by_segment`."""
    return _by_segment(np.cumsum, inputs, parameters, grid)


def segment_sums(inputs: Inputs, parameters: Parameters, grid: Grid) -> Expected:
    """The sum of each segment of `width` lanes, in each of its lanes: `out`, shaped as `in`; see `_by_segment`."""
    return _by_segment(_spread_sum, inputs, parameters, grid)


def _spread_sum(x: Array, axis: int, dtype: np.dtype[Any]) -> Array:
    return np.broadcast_to(x.sum(axis=axis, dtype=dtype, keepdims=True), x.shape)


def _by_segment(added: Callable[..., Array], inputs: Inputs, parameters: Parameters, grid: Grid) -> Expected:
    """One result for each segment of each block. Threads beyond the last element hold 0.

    Args:
        added: The function of the segments, one a row, and of the type to add in.
        inputs: `in`, shape (size,).
        parameters: `block` and `width`; the last segment of a block may be shorter.
        grid: One block for `block` elements.
    """
    x, width, block = inputs["in"], int(parameters["width"]), int(parameters["block"])
    wide = wider(x.dtype)
    whole = -(-block // width) * width
    lanes = np.zeros((grid[0], whole), wide)
    filled = np.zeros((grid[0], block), wide)
    filled.reshape(-1)[: len(x)] = x
    lanes[:, :block] = filled
    segments = lanes.reshape(-1, width)

    def back(of_segments: Array) -> Array:
        return of_segments.reshape(grid[0], whole)[:, :block].reshape(-1)[: len(x)]

    sums = back(added(segments, axis=1, dtype=wide))
    if not is_float(x.dtype):
        return Expected({"out": ExpectedArray(sums.astype(x.dtype))})
    magnitude = back(added(np.abs(segments), axis=1, dtype=wide))
    return Expected({"out": ExpectedArray(sums, magnitude, granule=_granule(x))})


_CHUNK = 1 << 22  # elements widened at a time


def _sums(x: Array, per_block: int, blocks: int, wide: np.dtype[Any]) -> Array:
    sums = np.zeros(blocks, wide)
    whole = len(x) // per_block
    rows = max(1, _CHUNK // per_block)
    for first in range(0, whole, rows):
        last = min(first + rows, whole)
        part = x[first * per_block : last * per_block].reshape(-1, per_block)
        sums[first:last] = part.sum(axis=1, dtype=wide)
    if whole < blocks:
        sums[whole] = x[whole * per_block :].sum(dtype=wide)
    return sums
