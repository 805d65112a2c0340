"""Arrays that carry what bounds their rounding error: the table of operators and functions of array expressions.

Beside each value goes its magnitude: the value that would come out if nothing cancelled, so |a + b| becomes |a| + |b|.
The rounding error of a floating-point kernel is bounded by a multiple of the magnitude, however small the value is
(Higham, Accuracy and Stability of Numerical Algorithms, section 3.1).
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
_DEPTH_OF_A_FUNCTION = 4  # up to 2 ulp (CUDA C++ Programming Guide, "Mathematical Functions")


@dataclass(frozen=True)
class Bounded:
    """A value, its magnitude, and how many rounded operations follow each other in it."""

    value: Array
    magnitude: Array
    depth: int = 0

    def __getitem__(self, index: Any) -> Bounded:
        return Bounded(self.value[index], self.magnitude[index], self.depth)

    def __bool__(self) -> bool:
        raise TypeError("an array is neither true nor false; compare two at a time")


def plain(value: Any) -> Bounded:
    """A value in which nothing was rounded. Python's integers stay: NumPy keeps the type of the array they meet."""
    return Bounded(value, np.abs(value))


def _arithmetic(
    operation: Callable[[Any, Any], Any], magnitude: Callable[[Bounded, Bounded], Any] | None = None
) -> Callable[[Bounded, Bounded], Bounded]:
    """One rounded operation; without a rule for its magnitude, that is the result's own."""

    def calculate(a: Bounded, b: Bounded) -> Bounded:
        value = operation(a.value, b.value)
        return Bounded(value, magnitude(a, b) if magnitude else np.abs(value), max(a.depth, b.depth) + 1)

    return calculate


def _comparison(operation: Callable[[Any, Any], Any]) -> Callable[[Bounded, Bounded], Bounded]:
    return lambda a, b: plain(operation(a.value, b.value))


def _elementwise(function: Callable[..., Any]) -> Callable[..., Bounded]:
    def call(*args: Bounded) -> Bounded:
        value = function(*(a.value for a in args))
        return Bounded(value, np.abs(value), max(a.depth for a in args) + _DEPTH_OF_A_FUNCTION)

    return call


def _moving(function: Callable[..., Any], *, adds: bool = False) -> Callable[..., Bounded]:
    """A function that moves, repeats or adds elements: it does the same to the magnitudes."""

    def call(*args: Bounded) -> Bounded:
        values = [a.value for a in args]
        # Axes and amounts have no magnitude of their own.
        magnitudes = [a.magnitude if np.ndim(a.value) else a.value for a in args]
        steps = int(np.ceil(np.log2(max(np.size(values[0]), 2)))) if adds else 0  # NumPy adds in pairs
        return Bounded(function(*values), function(*magnitudes), max(a.depth for a in args) + steps)

    return call


def _where(condition: Bounded, a: Bounded, b: Bounded) -> Bounded:
    value, magnitude = (np.where(condition.value, x, y) for x, y in ((a.value, b.value), (a.magnitude, b.magnitude)))
    return Bounded(value, magnitude, max(condition.depth, a.depth, b.depth))


def _own_type(function: Callable[..., Any]) -> Callable[..., Any]:
    """Sums of integers wrap in their own type, as they do on a GPU."""
    return lambda x, *axis: function(x, *axis, dtype=x.dtype if x.dtype.kind in "iu" else None)


PERMUTING = frozenset(("transpose", "reshape", "roll", "flip", "repeat"))  # these only move elements
TABLE: Mapping[Any, Callable[..., Bounded]] = {
    ast.Add: _arithmetic(np.add, lambda a, b: a.magnitude + b.magnitude),
    ast.Sub: _arithmetic(np.subtract, lambda a, b: a.magnitude + b.magnitude),
    ast.Mult: _arithmetic(np.multiply, lambda a, b: a.magnitude * b.magnitude),
    ast.Div: _arithmetic(np.divide, lambda a, b: a.magnitude / np.abs(b.value)),
    ast.FloorDiv: _arithmetic(np.floor_divide), ast.Mod: _arithmetic(np.mod), ast.Pow: _arithmetic(np.power),
    ast.BitAnd: _arithmetic(np.bitwise_and), ast.BitOr: _arithmetic(np.bitwise_or),
    ast.BitXor: _arithmetic(np.bitwise_xor), ast.LShift: _arithmetic(np.left_shift),
    ast.RShift: _arithmetic(np.right_shift),
    ast.USub: lambda x: Bounded(-x.value, x.magnitude, x.depth), ast.UAdd: lambda x: x,
    ast.Eq: _comparison(np.equal), ast.NotEq: _comparison(np.not_equal), ast.Lt: _comparison(np.less),
    ast.LtE: _comparison(np.less_equal), ast.Gt: _comparison(np.greater), ast.GtE: _comparison(np.greater_equal),
    "sum": _moving(_own_type(np.sum), adds=True), "cumsum": _moving(_own_type(np.cumsum), adds=True),
    "transpose": _moving(np.transpose), "reshape": _moving(lambda x, *shape: np.reshape(x, shape)),
    "roll": _moving(np.roll), "flip": _moving(np.flip), "pad": _moving(np.pad), "repeat": _moving(np.repeat),
    "where": _where,
    "abs": _elementwise(np.abs), "sqrt": _elementwise(np.sqrt), "exp": _elementwise(np.exp),
    "log": _elementwise(np.log), "sin": _elementwise(np.sin), "cos": _elementwise(np.cos),
    "tanh": _elementwise(np.tanh), "minimum": _elementwise(np.minimum), "maximum": _elementwise(np.maximum),
    "arange": _elementwise(np.arange),
}  # fmt: skip
