"""Stencils: what the kernels that weigh a neighbourhood should give."""

from __future__ import annotations

import numpy as np

from runner.kernel.reference import Array, Expected, ExpectedArray, Inputs, Parameters, wider

_DEPTH = 2 + 4  # the first pair's subtraction and product, then four additions


def derivative(inputs: Inputs, parameters: Parameters, grid: tuple[int, int, int]) -> Expected:
    """The sum of coefficient[k] * (in[i + k] - in[i - k]) for k = 1 ... 4; elements outside the array are 0.

    Args:
        inputs: `in`, shape (size,), and `coefficient`, shape (5,), of which the first is not used.
        parameters: None are needed.
        grid: Does not matter.

    Returns:
        `out`, shape (size,).
    """
    _ = parameters, grid
    wide = wider(inputs["in"].dtype)
    x, coefficient = inputs["in"].astype(wide), inputs["coefficient"].astype(wide)
    values = np.zeros_like(x)
    magnitudes = np.zeros_like(x)
    for k in range(1, len(coefficient)):
        values += coefficient[k] * (_shifted(x, k) - _shifted(x, -k))
        magnitudes += abs(coefficient[k]) * (np.abs(_shifted(x, k)) + np.abs(_shifted(x, -k)))
    return Expected({"out": ExpectedArray(values, magnitudes, depth=_DEPTH)})


def _shifted(x: Array, by: int) -> Array:
    """Element i is x[i + by], or 0 where there is none."""
    moved = np.zeros_like(x)
    if abs(by) < len(x):
        kept = x[max(by, 0) : len(x) + min(by, 0)]
        moved[max(-by, 0) : max(-by, 0) + len(kept)] = kept
    return moved
