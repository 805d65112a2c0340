"""The power of a check: which wrong results the comparison with the expected values would let pass.

A check that accepts everything proves nothing. So typical wrong results are tried against the acceptance intervals.
Long outputs are sampled.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from runner.bounds.acceptance import Elements, Mask, interval
from runner.bounds.rounding import Arithmetic, is_float, wider

Array = NDArray[Any]

WEAK = 0.1  # relative error: a check that allows it in a typical element proves nothing
SAMPLED = 1 << 16  # elements of an output
ZEROS, TWICE, LESS, SHIFTED = "all zeros", "twice the values", "0.9 of the values", "a shift by one element"
LEFT_OUT = "a result without one element of '{}'"


@dataclass(frozen=True)
class Power:
    """The power of the check of an output, with one input or with several together."""

    allowed: float  # the largest relative error of a typical element that passes; 0: only exact values, infinity: any
    passing: frozenset[str] = frozenset()  # the wrong results that pass, in words
    compared: bool = True  # whether any element was compared
    finite: bool = True  # whether any compared element is expected to be a finite number

    @property
    def is_weak(self) -> bool:
        """Whether the check does not tell correct results from wrong ones."""
        return self.allowed >= WEAK

    def __and__(self, other: Power) -> Power:
        """The power of both checks together: a wrong result must pass each."""
        if not (self.compared and other.compared):
            return self if self.compared else other
        finite = self.finite or other.finite
        return Power(min(self.allowed, other.allowed), self.passing & other.passing, finite=finite)


def together(first: Mapping[str, Power], second: Mapping[str, Power]) -> dict[str, Power]:
    """Combine the powers of two checks of the same outputs, by output."""
    return {name: power & second[name] if name in second else power for name, power in first.items()}


def power_of(expected: Elements, defined: Mask, dtype: np.dtype[Any]) -> Power:
    """The power of an output's check; `defined` is the mask of the elements that are compared, shape (n,)."""
    sample = _sample(defined)
    if not sample.size:
        return Power(np.inf, compared=False) if len(defined) else Power(0.0)
    part = expected[sample]
    low, high, values = _ends(part, dtype)
    with np.errstate(all="ignore"):
        error = np.fmax(high - values, values - low)
        error = np.where(part.open(), np.inf, np.where(np.isnan(error), 0, error))
        finite = np.isfinite(values)
        typical = finite & (values != 0)
        relative = np.where(error == 0, 0, error / np.abs(values))[typical if typical.any() else finite]
        allowed = float(np.median(relative)) if relative.size else 0.0
        passing = frozenset(_passing(expected, defined, dtype, (low, high, values), sample))
        return Power(allowed, passing, finite=bool(finite.any()))


def _sample(defined: Mask) -> NDArray[np.intp]:
    """Indices of at most `SAMPLED` compared elements, spread over the whole length."""
    if len(defined) > SAMPLED and defined.all():  # the usual case, without a list of all indices
        return np.linspace(0, len(defined) - 1, SAMPLED).astype(np.intp)
    indices = np.flatnonzero(defined)
    return indices[np.linspace(0, len(indices) - 1, min(len(indices), SAMPLED)).astype(np.intp)]


def _ends(part: Elements, dtype: np.dtype[Any]) -> tuple[Array, Array, Array]:
    """The lowest and the highest value that pass, and the expected one, each of shape (n,)."""
    values = part.values
    if is_float(dtype):
        with np.errstate(over="ignore", invalid="ignore"):
            wide = np.promote_types(values.dtype, wider(dtype)) if values.dtype.kind == "f" else wider(dtype)
            values = values.astype(wide)
            low, high = interval(part, dtype, values)
            if dtype.itemsize == 1:  # conversions to 8 bits saturate
                largest = Arithmetic(dtype).largest
                low, high, values = (np.clip(end, -largest, largest) for end in (low, high, values))
            if part.tolerance is None:  # a result in a wider type is rounded once more
                low, high = (end.astype(dtype) for end in (low, high))
            values = np.where(np.isfinite(values.astype(dtype)), values, np.inf)  # overflows in the output's type
            return np.fmin(low.astype(wide), values), np.fmax(high.astype(wide), values), values
    if dtype.kind not in "biu":
        zeros = np.zeros(values.shape)
        return zeros, zeros, zeros
    values = values.astype(np.float64)
    if part.error is not None:
        return values - part.error, values + part.error, values
    if part.low is not None and part.high is not None:
        return np.trunc(part.low).astype(np.float64), np.trunc(part.high).astype(np.float64), values
    return values, values, values


def _passing(
    expected: Elements, defined: Mask, dtype: np.dtype[Any], ends: tuple[Array, Array, Array], sample: NDArray[np.intp]
) -> list[str]:
    """The wrong results that would pass; one that equals the expected result does not count."""
    low, high, values = ends

    def passes(wrong: Array) -> bool:
        inside = (low <= wrong) & (wrong <= high)
        return bool(np.all(inside | (wrong == values) | (np.isnan(wrong) & np.isnan(values))))

    names = []
    if np.any(values != 0):
        factors = {ZEROS: 0.0, TWICE: 2.0, LESS: 0.9}.items()
        names = [name for name, f in factors if passes(np.where(np.isfinite(values), values * f, values))]
    if np.count_nonzero(defined) > 1 and passes(_ends(expected[(sample - 1) % len(defined)], dtype)[2]):
        names.append(SHIFTED)
    return names
