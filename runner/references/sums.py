"""Sums: what the reductions should give."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from runner.dtypes import is_float
from runner.lanes import WARP, taking_part
from runner.reference import Array, Expected, ExpectedArray, Inputs, Parameters, wider


def block_sums(inputs: Inputs, parameters: Parameters, grid: tuple[int, int, int]) -> Expected:
    """Sums of the elements of each block, exact modulo 2**bits, or in extended precision.

    Block b takes elements [b * block * unroll, (b + 1) * block * unroll). Where there is a mask, elements of lanes
    outside it are left out: element i belongs to lane i % 32, as blocks are made of whole warps.

    Args:
        inputs: `in`, shape (size,).
        parameters: `block`; `unroll` and `mask` where the kernel has them.
        grid: One block a partial sum.

    Returns:
        `out`, shape (grid,); the value is the plain NumPy sum, timed, as the seeds' host code times its loop.
    """
    x = inputs["in"]
    per_block = int(parameters["block"]) * int(parameters.get("unroll", 1))
    mask = int(parameters.get("mask", 0xFFFFFFFF))
    if mask != 0xFFFFFFFF:
        x = np.where(np.resize(taking_part(np.arange(WARP), mask), x.shape), x, x.dtype.type(0))
    started = time.perf_counter()
    value = np.sum(x, dtype=x.dtype if not is_float(x.dtype) else np.float64).item()
    seconds = time.perf_counter() - started
    wide = wider(x.dtype)
    sums = _sums(x, per_block, grid[0], wide)
    if not is_float(x.dtype):
        return Expected({"out": ExpectedArray(sums.astype(x.dtype))}, value, seconds)
    magnitude = _sums(np.abs(x), per_block, grid[0], np.dtype(np.float64))
    return Expected({"out": ExpectedArray(sums, magnitude, depth=per_block)}, value, seconds)


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
