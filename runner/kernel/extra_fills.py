"""Fills that replace an array's own in extra inputs: exact numbers, numbers of one sign, distinct ones, other scales.

Exact numbers are small ones whose sums and products are exact. They lie within the range of the fill that they replace,
so every kernel that accepts the fill accepts them.
"""

from __future__ import annotations

import dataclasses
import functools
import math

import numpy as np

from runner.bounds.rounding import Arithmetic
from runner.kernel.case import READ, ArraySpec
from runner.kernel.recipes import Fill, Number, Recipe, random_multiples

EXACT = {"random": "exact_signed", "c_rand": "exact_positive", "random_bytes": "exact_positive"}
"""The fill of exact numbers that replaces a float array's own."""
BYTES = ("c_rand", "random_bytes")
SPREAD = 4.0  # standard deviations that count as the range of a normal fill
MIXED, POSITIVE, NEGATIVE, HIGH, LOW = 0, 1, -1, 2, -2  # the signs of a set; the last two beyond 1 and -1


class Column:
    """An array, or a member of its structure, and the fills that the check may give it."""

    def __init__(self, spec: ArraySpec) -> None:
        self.name, self.dtype, self.is_float = spec.name, spec.dtype, spec.dtype.is_float
        self.fill: Fill = spec.fill  # type: ignore[assignment]  # a column has no members
        self.kind = spec.fill.kind if isinstance(spec.fill, Recipe) else ""
        self.host_shape = spec.dtype.host_shape(spec.shape)
        self.is_sorted = self.kind == "sorted"
        self.refill_allowed = spec.refill and spec.role in READ
        self.fill_range = self._fill_range() if self.refill_allowed else None
        self.is_signed = self.fill_range is not None and self.fill_range[0] < 0 < self.fill_range[1]

    @property
    def is_refillable(self) -> bool:
        """Whether the check may refill it."""
        seeded = isinstance(self.fill, Recipe) and self.fill.seeded and not self.is_float
        return self.refill_allowed and (self.fill_range is not None or seeded)

    def _fill_range(self) -> tuple[float, float] | None:
        """The half-open range [first, end) of the fill's values; `None` if it is empty, infinite, or of booleans."""
        if self.dtype.numpy == np.bool_:
            return None
        limits = None if self.is_float else np.iinfo(self.dtype.numpy)
        whole: tuple[float, float] = (int(limits.min), int(limits.max) + 1) if limits else (-1.0, 1.0)
        if isinstance(self.fill, str):
            return whole if self.fill == "random" else (0, 256) if self.fill in BYTES else None
        if not isinstance(self.fill, Recipe) or self.kind not in ("range", "sorted", "normal"):
            return None
        first, end = self.fill.constants or ((0.0, 1.0) if self.kind == "normal" else whole)
        if self.kind == "normal":
            first, end = first - SPREAD * end, first + SPREAD * end
            if limits:
                first, end = max(first, whole[0]), min(end, whole[1])
        return (first, end) if 0 < end - first < math.inf else None

    @property
    def _center(self) -> tuple[float, float]:
        """The range of a float column's fill; of a normal one, one standard deviation around its mean."""
        first, end = self.fill_range or (0.0, 0.0)
        if self.kind != "normal":
            return first, end
        middle, deviation = (first + end) / 2, (end - first) / 2 / SPREAD
        return middle - deviation, middle + deviation

    @functools.cached_property
    def _levels(self) -> int:
        """Magnitudes of exact numbers: 4 (quarters), 2 or 1; fewer in long arrays, to keep sums of squares exact."""
        count, digits = math.prod(self.host_shape), Arithmetic(self.dtype.numpy).digits
        return next((n for n in (4, 2) if count * 0.7 * n * n <= digits), 1)

    @functools.cached_property
    def exact(self) -> Fill:
        """The fill of exact numbers of both signs within the range of a float column's own, or ""."""
        name = self.fill if isinstance(self.fill, str) else ""
        if self.kind in ("normal", "range"):
            first, end = self._center
            if not (first <= -1 and end > 1) and not (first <= 1 and end > 3):
                return random_multiples(first, end, _step(first, end, self._levels), 1) if end > first else ""
            name = "random" if first <= -1 else "c_rand"
        if name not in EXACT:
            return ""
        return f"{EXACT[name]}_{self._levels if EXACT[name] == 'exact_signed' else min(self._levels, 3)}"

    def filled(self, variant: int, side: int, *, sided: bool, distinct: bool = False) -> Fill:
        """The fill in a variant, with numbers on one side of 0 if allowed; empty if it keeps its own."""
        side = side if self.is_signed else MIXED
        if distinct and (fill := self._distinct(variant, side)):
            return fill
        if side and self.is_sorted:
            first, end = self.fill_range or (0.0, 0.0)
            least: Number = end / 1024 if self.is_float else 1
            return Recipe("sorted", "", (first, 0) if side < 0 else (least, end))
        if not self.is_float:
            if side:
                return self.one_sign(variant, side)
            return self.fill if self.fill == "random" or self.kind else ""
        exact = self.exact
        if isinstance(exact, Recipe):
            if side and (sided or self._levels == 4):
                return self.one_sign(variant, side)
            return dataclasses.replace(exact, numbers=(*exact.numbers[:3], variant, 0))
        # The variants of quarters include one of each sign.
        return self.one_sign(variant, side) if side and sided and exact and not str(exact).endswith("_4") else exact

    def one_sign(self, variant: int, side: int) -> Fill:
        """Exact numbers on one side of 0 within the range of the fill; above 1 for `HIGH`, below -1 for `LOW`."""
        first, end = self.fill_range or (0.0, 0.0)
        if not self.is_float:
            least = 2 if self.fill == "random" else abs(side)
            return (
                random_multiples(first, 1 - least, 1, variant) if side < 0 else random_multiples(least, end, 1, variant)
            )
        if abs(side) == HIGH:
            return (
                random_multiples(max(first, -4), -1, 0.25, variant)
                if side < 0
                else random_multiples(1.25, min(end, 4), 0.25, variant)
            )
        closed = first <= -1 and (end > 1 or self.fill == "random")
        first, end = (-1.0, 1.25) if closed else self._center
        step = 0.25 if closed else _step(first, end, 4)
        if side < 0:
            return random_multiples(first, min(end, step / 2), step, variant) if first < 0 else ""
        return random_multiples(max(first, step / 2), end, step, variant) if end > 0 else ""

    def outside(self, variant: int, side: int) -> Fill:
        """Numbers above 1 or below -1 for a fill whose range excludes them."""
        least, step, end = (1.25, 0.25, 3.25) if self.is_float else (2, 1, 8)
        return (
            random_multiples(-end, step - least, step, variant)
            if side < 0
            else random_multiples(least, end, step, variant)
        )

    def _distinct(self, variant: int, side: int) -> Fill:
        """Exact numbers that are distinct within each row; empty if the type has too few."""
        if self.fill_range is None or self.is_sorted:
            return ""
        first, end = (
            self._center if self.is_float else (max(self.fill_range[0], -(2**30)), min(self.fill_range[1], 2**30))
        )
        low, high = (first, 0) if side < 0 else (0, end) if side > 0 else (first, end)
        step: Number = 1
        if self.is_float:
            digits = Arithmetic(self.dtype.numpy).digits * (high - low) / 2 / max(abs(first), abs(end))
            step = 2.0 ** math.floor(math.log2((high - low) / max(min(math.prod(self.host_shape), digits), 1)))
        return random_multiples(low + step * (side > 0), high, step, variant, distinct=True)

    def scaled(self, scale: float, *, may_leave: bool) -> tuple[Fill, bool] | None:
        """A fill of numbers around `scale`, and whether they leave the range of its own; `None` if not allowed."""
        integers = not self.is_float or self.fill in BYTES
        first, end = self.fill_range or (0, 0)
        step = max(1, int(abs(scale))) if integers else abs(scale) / 4
        low, high = (step, 4.5 * step) if scale > 0 else (-4 * step, -step / 2)
        leaves = not first <= low <= high <= end
        if (leaves and not may_leave) or self.rounded(4 * step) is None or self.rounded(low) is None:
            return None
        return random_multiples(low, high, step, 5), leaves

    def rounded(self, value: float) -> Number | None:
        """A number rounded to the column's type; `None` if the type cannot hold it."""
        if not self.dtype.holds(value):
            return None
        return float(self.dtype.numpy.type(value)) if self.is_float else int(value)


def _step(first: float, end: float, levels: int) -> float:
    """A power of two with 2 to 4 multiples in the range per level."""
    return float(2.0 ** math.floor(math.log2((end - first) / levels / 2)))
