"""References of the kernels that send indices through a tile in shared memory.

The indices are only moved, and each dtype holds them exactly, so they are compared exactly.
"""

from __future__ import annotations

import numpy as np

from runner.kernel.reference import Array, Expected, ExpectedArray, Inputs, Parameters


def indices(_inputs: Inputs, parameters: Parameters, _grid: tuple[int, int, int]) -> Expected:
    """Each thread reads what it wrote.

    Args:
        parameters: `block`, `blocks`.

    Returns:
        `out`, shape (block * blocks,): 0, 1, 2, ...
    """
    return _exactly(_tiles(parameters))


def transposed_indices(_inputs: Inputs, parameters: Parameters, _grid: tuple[int, int, int]) -> Expected:
    """Each block reads its tile of `block_y` rows and `block_x` columns transposed.

    Args:
        parameters: `block`, `block_x`, `block_y`, `blocks`.

    Returns:
        `out`, shape (block * blocks,), one tile after the other.
    """
    return _exactly(_tiles(parameters).transpose(0, 2, 1))


def _tiles(parameters: Parameters) -> Array:
    x, y, blocks = (int(parameters[n]) for n in ("block_x", "block_y", "blocks"))
    return np.arange(x * y * blocks).reshape(blocks, y, x)


def _exactly(values: Array) -> Expected:
    return Expected({"out": ExpectedArray(values.ravel(), magnitude=np.zeros(()))})
