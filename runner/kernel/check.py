"""Compares a kernel's outputs with the expected ones: integers exactly, floats within a bound of the rounding error."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from runner.errors import UsageError
from runner.kernel.arrays import is_float
from runner.kernel.reference import ExpectedArray

Array = NDArray[Any]

# The bytes of an output before a checked launch. In floats they are NaN, which differs from every expected value.
POISON = 0xA5
POISON_FLOAT = 0xFF
SHOWN = 5  # mismatches listed one by one
PIECE = 1 << 14  # elements compared at a time: 128 KiB in double precision fit into a cache


@dataclass(frozen=True)
class CheckResult:
    """Whether a launch gave the right answer: how many elements differ, of how many, and the first that do."""

    mismatches: int
    compared: int
    reason: str = ""

    @property
    def ok(self) -> bool:
        """Whether no element differs."""
        return self.mismatches == 0


def check(actual: Mapping[str, Array], expected: Mapping[str, ExpectedArray], depth: int | None) -> CheckResult:
    """Compare all outputs, element by element.

    Args:
        actual: The outputs of the kernel, by name.
        expected: The expected outputs; others are not compared.
        depth: Longest chain of rounded operations in the kernel; `None` for the reference's own.
    """
    mismatches, compared = 0, 0
    listed: list[str] = []
    for name, right in expected.items():
        shape, got = actual[name].shape, actual[name].ravel()
        try:
            values = np.broadcast_to(right.values, shape).ravel()
            magnitude, defined = (
                None if a is None else np.broadcast_to(a, shape).ravel() for a in (right.magnitude, right.defined)
            )
        except ValueError:
            raise UsageError(
                f"the reference gives '{name}' the shape {right.values.shape}, the kernel {shape}"
            ) from None
        wrong = np.empty(got.shape, np.bool_)
        for first in range(0, len(got), PIECE):
            at = slice(first, first + PIECE)
            bound = None if magnitude is None else magnitude[at]
            wrong[at] = _differs(got[at], values[at], bound, right.depth if depth is None else depth)
        if defined is not None:
            wrong &= defined
        compared += got.size if defined is None else int(np.count_nonzero(defined))
        mismatches += int(np.count_nonzero(wrong))
        shown = np.flatnonzero(wrong)[: SHOWN - len(listed)]
        listed += [f"{name}[{i}] is {_show(got[i])}, expected {_show(values[i])}" for i in shown]
    if not mismatches:
        return CheckResult(0, compared)
    more = f", and {mismatches - len(listed)} more" if mismatches > len(listed) else ""
    return CheckResult(mismatches, compared, f"{mismatches} of {compared} elements differ: {'; '.join(listed)}{more}")


def _differs(got: Array, values: Array, magnitude: Array | None, depth: int) -> NDArray[np.bool_]:
    """Which elements are wrong."""
    if not is_float(got.dtype):
        # A wider integer result wraps to the array's own type, as it does on the GPU.
        return np.asarray(got != values.astype(got.dtype))
    wide = np.promote_types(values.dtype, np.float64) if values.dtype.kind == "f" else np.dtype(np.float64)
    limits = ml_dtypes.finfo(got.dtype)  # type: ignore[no-untyped-call]  # NumPy's own does not know bfloat16
    error = _error(got.dtype, float(limits.eps) / 2, depth)
    with np.errstate(over="ignore"):
        if np.array_equal(got, values.astype(got.dtype, copy=False)):
            return np.zeros(got.shape, np.bool_)  # no bound is needed
    exact, found = values.astype(wide), got.astype(wide)
    magnitude = np.abs(exact) if magnitude is None else magnitude.astype(wide)
    with np.errstate(invalid="ignore", over="ignore"):
        bound = error * magnitude
        bound += np.where(magnitude > 0, float(limits.smallest_subnormal), 0)
        # Infinity is close to nothing but itself: no infinite value and no infinite bound lets a number pass.
        close = (np.abs(found - exact) <= bound) & np.isfinite(exact) & np.isfinite(bound)
        if close.all():
            return np.zeros(got.shape, np.bool_)
        same = (found == exact) | (got == values.astype(got.dtype)) | (np.isnan(found) & np.isnan(exact))
        overflow = np.isinf(found) & (found * exact > 0) & (np.abs(exact) + bound > float(limits.max))
    return np.asarray(~(close | same | overflow))


def _error(dtype: np.dtype[Any], unit: float, depth: int) -> float:
    """The largest error of a result, relative to its magnitude.

    For a chain of n rounded operations it is n * u / (1 - n * u), where u is the unit roundoff, half of eps (Higham,
    Accuracy and Stability of Numerical Algorithms, lemma 3.1 and section 4.2).
    """
    n = max(depth, 1)
    if n * unit >= 1:
        raise UsageError(f"after {n} rounded operations in a chain, no digit of {dtype} is left to check")
    return n * unit / (1 - n * unit)


def _show(value: Any) -> str:
    return f"{value:.9g}" if isinstance(value, float | np.floating) else str(value)
