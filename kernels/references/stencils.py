"""References of the stencils."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from runner.bounds.chunked import in_pieces
from runner.bounds.rounding import wider
from runner.kernel.reference import Array, Expected, ExpectedArray, Inputs, Parameters

_DEPTH = 2 + 4  # the first pair's subtraction and product, then four additions


def derivative(inputs: Inputs, parameters: Parameters, grid: tuple[int, int, int]) -> Expected:
    """The sum of coefficient[k] * (in[i + k] - in[i - k]) for k = 1 ... 4; elements outside the array are 0.

    Args:
        inputs: `in`, shape (size,), and `coefficient`, shape (5,); its first element is not used.
        parameters: Not used.
        grid: Not used.

    Returns:
        `out`, shape (size,).
    """
    _ = parameters, grid
    wide = wider(inputs["in"].dtype)
    x, coefficient = inputs["in"].astype(wide), inputs["coefficient"].astype(wide)
    values = _weighed(x, coefficient, np.subtract)
    magnitudes = _weighed(np.abs(x), np.abs(coefficient), np.add)
    return Expected({"out": ExpectedArray(values, magnitudes, depth=_DEPTH)})


def _weighed(x: Array, coefficient: Array, join: Callable[[Array, Array], Array]) -> Array:
    """The sum over k of coefficient[k] * join(neighbour behind, neighbour before), in pieces that fit into a cache."""
    radius = len(coefficient) - 1
    around = np.pad(x, radius)
    total = np.zeros_like(x)

    def add(at: slice) -> None:
        piece, middle = total[at], at.start + radius
        for k in range(1, radius + 1):
            before, behind = around[middle - k :], around[middle + k :]
            piece += coefficient[k] * join(behind[: len(piece)], before[: len(piece)])

    in_pieces(add, len(x))
    return total
