"""Interval arithmetic on arrays: the operators and elementwise functions of array expressions.

Each value carries the lowest and the highest value that a correct kernel may compute in its place. Errors of arguments
propagate through functions, and a comparison whose operands overlap is true, false or either. The bounds assume:

* The kernel rounds each operation to its type, to a wider one, or not at all (a multiplication contracted into an FMA).
  Each rounding moves a result by at most u times its magnitude, and the interval grows by that on both sides.
* Sums, chains of + and -, and products are evaluated in any order.
* A result that is exact in every order has the value itself as both bounds. This is the case where all values are
  multiples of one power of two, the `grain`, and the type holds every partial sum or product.

`fp` is the kernel's floating-point arithmetic.
"""

from __future__ import annotations

import ast
import functools
import itertools
import math
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from runner.bounds.rounding import DIVIDES_TO_ZERO, Arithmetic, finite, grain

Array = NDArray[Any]
Operation = Callable[..., Any]
INT_BYTES = 4  # of C++'s int
HALF = 0.5  # the mantissa of a power of two, by frexp


@dataclass(frozen=True)
class Chain:
    """The terms of a chain of additions, whose order the kernel chooses. The arrays have the shape of the sum."""

    low: Array  # sums of the terms' bounds, before the roundings of the additions
    high: Array
    magnitude: Array  # sum of the terms' magnitudes
    count: int


@dataclass(frozen=True)
class Bounded:
    """An array and, element by element, the lowest and highest value that a correct kernel may compute.

    `value`, `low` and `high` have one shape; floats have `Arithmetic.wide` as their type. An exact result has one array
    as all three: `certain` compares by identity. Constants and parameters are plain numbers in place of arrays.
    """

    value: Array
    low: Array
    high: Array
    arithmetic: Arithmetic | None = None  # `None`: the operations are exact
    grain: tuple[float, float] | None = None  # of exact floats: their common power of two, and the largest magnitude
    chain: Chain | None = None  # of a result of + or -
    factors: int = 1  # of a product
    rounded: int = 0  # multiplications whose rounding error the bounds include
    summed: int = 1  # terms of a sum: a kernel may add parts of it to another operand
    growth: float = 1.0  # of a product: the factor by which it may magnify what underflow lost

    def __getitem__(self, index: Any) -> Bounded:
        return move(self, lambda a: a[index])

    @property
    def certain(self) -> bool:
        """Whether a correct kernel has exactly this value."""
        return self.low is self.high

    def __bool__(self) -> bool:
        raise TypeError("an array is neither true nor false; compare two at a time")

    @property
    def whole(self) -> bool:
        """Whether the elements are integers or truth values."""
        return np.asarray(self.value).dtype.kind in "biuO"

    def magnifies(self) -> float:
        """The factor by which multiplying by this may magnify what another factor lost in an underflow."""
        if self.factors > 1:
            return self.growth
        most = float(np.max(magnitude_of(self), initial=1.0))
        return most if most < math.inf else 1.0

    def terms(self) -> Chain:
        """The terms of its chain of additions; any other value is a single term."""
        return self.chain or Chain(self.low, self.high, magnitude_of(self), 1)


def plain(value: Any, arithmetic: Arithmetic | None = None) -> Bounded:
    """Convert an input, a parameter or a constant, as the kernel's arithmetic would hold it.

    Arrays of integers shorter than C++'s int are promoted to int, as in any C++ arithmetic. Python's integers stay as
    they are: NumPy keeps the type of the array that they are combined with.
    """
    if isinstance(value, Bounded):
        return value
    if isinstance(value, np.ndarray) and value.dtype.kind in "iu" and value.dtype.itemsize < INT_BYTES:
        value = value.astype(np.int32)
    result = exact(value, arithmetic)
    if arithmetic is None or result.whole or isinstance(value, str):
        return result
    wide = stored = np.asarray(value).astype(arithmetic.wide, copy=False)
    if np.asarray(value).dtype != arithmetic.dtype:
        stored = wide.astype(arithmetic.dtype).astype(arithmetic.wide)
    if arithmetic.flushed:
        stored = np.where(np.abs(stored) < arithmetic.tiny, 0, stored)
    if stored is wide or np.array_equal(stored, wide, equal_nan=True):
        return exact(wide, arithmetic, grain(wide, arithmetic.digits))
    return Bounded(wide, np.minimum(wide, stored), np.maximum(wide, stored), arithmetic)


def to_float(x: Bounded, fp: Arithmetic) -> Bounded:
    """Convert integers and truth values to floats of the kernel's type; floats are returned unchanged."""
    if not x.whole:
        return x
    value = np.asarray(x.value).astype(fp.wide)
    if not x.certain:
        return Bounded(value, np.asarray(x.low).astype(fp.wide), np.asarray(x.high).astype(fp.wide), fp)
    most = float(np.max(np.abs(value), initial=0))
    if most <= fp.digits:
        return exact(value, fp, (1.0, most) if value.ndim else grain(value, fp.digits))
    return _widened(value, value, value, fp, 1)


def magnitude_of(x: Bounded) -> Array:
    """The largest magnitude that each value may have."""
    return np.abs(x.low) if x.certain else np.maximum(np.abs(x.low), np.abs(x.high))


def with_bounds(value: Array, low: Array, high: Array, fp: Arithmetic, **more: Any) -> Bounded:
    """A result with these bounds, shaped as `value`; `more` are further fields of `Bounded`.

    NaN in either bound leaves the element unbounded. A bound beyond the largest number of the type is infinite.
    """
    unbounded = np.isnan(low) | np.isnan(high)
    if unbounded.any():
        infinite = np.where(np.isnan(value), np.nan, np.inf)  # of NaN, the kernel's result is NaN, too
        low, high = np.where(unbounded, -infinite, low), np.where(unbounded, infinite, high)
    if fp.flushed:
        low = np.where((low > 0) & (low < fp.tiny), 0, low)
        high = np.where((high < 0) & (high > -fp.tiny), 0, high)
    low, high = np.fmin(low, value), np.fmax(high, value)
    if np.min(low, initial=0) < -fp.largest or np.max(high, initial=0) > fp.largest or unbounded.any():
        low, high = np.where(low < -fp.largest, -np.inf, low), np.where(high > fp.largest, np.inf, high)
    return Bounded(value, low, high, fp, **more)


def _widened(
    value: Array, low: Array, high: Array, fp: Arithmetic, roundings: int, growth: float = 1.0, **more: Any
) -> Bounded:
    unit = (1 + fp.unit) ** roundings - 1
    tiny = growth * roundings * (fp.tiny if fp.flushed else fp.tiny / 2)
    below, above = finite(np.abs(low) * unit + tiny), finite(np.abs(high) * unit + tiny)
    return with_bounds(value, low - below, high + above, fp, growth=growth, **more)


def exact(value: Any, fp: Arithmetic | None, own_grain: tuple[float, float] | None = None, **more: Any) -> Bounded:
    """A result that is exact in every order of operations; `own_grain` is its grain, if it has one."""
    return Bounded(value, value, value, fp, own_grain, **more)


def to_own_type(total: Bounded, fp: Arithmetic) -> Bounded:
    """Convert a sum from the accumulator's type: the kernel may keep it there, or round it to its own type."""
    if total.arithmetic is fp or fp.accumulator is None:
        return total
    if total.grain and fits(total.grain, fp):
        return replace(total, arithmetic=fp)

    def to_own(end: Array) -> Array:
        inside = np.abs(end) <= fp.largest  # what a half type cannot hold stays in the accumulator
        return np.where(inside, np.where(inside, end, 0).astype(fp.dtype).astype(fp.wide), end)

    low, high = np.minimum(total.low, to_own(total.low)), np.maximum(total.high, to_own(total.high))
    if total.certain and np.array_equal(low, high):
        return exact(total.value, fp, grain(total.value, fp.digits), summed=total.summed)
    return Bounded(total.value, low, high, fp, summed=total.summed)


def fits(grain: tuple[float, float], fp: Arithmetic) -> bool:
    """Whether the type holds all multiples of the grain up to the magnitude."""
    step, largest = grain
    return largest <= step * fp.digits and largest <= fp.largest and step >= fp.tiny


def _operation(integers: Operation, floats: Callable[[Bounded, Bounded, Arithmetic], Bounded]) -> Operation:
    """A binary operation: NumPy's own on integers, which wrap as on a GPU, and one with bounds on floats."""

    def calculate(a: Bounded, b: Bounded) -> Bounded:
        fp = a.arithmetic or b.arithmetic
        if fp is None or (a.whole and b.whole and a.certain and b.certain):
            value = integers(to_int(a.value), to_int(b.value))
            if fp is None:
                return plain(value)
            if np.asarray(value).dtype.kind in "biuO":
                return exact(value, fp)
        return floats(to_float(a, fp), to_float(b, fp), fp)

    return calculate


def to_int(value: Any) -> Any:
    """Convert truth values to integers, as C++ does in arithmetic."""
    return value.astype(np.int32) if isinstance(value, np.ndarray) and value.dtype == np.bool_ else value


def as_int(x: Any) -> Any:
    """The integer of an axis, a length or a flag; a tuple of several; `None` for an omitted argument."""
    if x is None:
        return None
    if isinstance(x, tuple):
        return tuple(as_int(part) for part in x)
    if isinstance(x.value, str) or np.ndim(x.value) or x.value != int(x.value):
        what = "an array" if np.ndim(x.value) else f"'{x.value}'"
        raise TypeError(f"an axis, a length or an amount is an integer, not {what}")
    return int(x.value)


def axis_options(axis: Any, keepdims: Any) -> dict[str, Any]:
    """NumPy's keywords for the arguments of a function along axes."""
    return {"axis": as_int(axis), "keepdims": bool(as_int(keepdims))}


def arithmetic_of(*operands: Bounded) -> Arithmetic | None:
    """The arithmetic in which operands meet."""
    return next((x.arithmetic for x in operands if x.arithmetic), None)


def apply_nondecreasing(function: Operation, parts: tuple[Bounded, ...]) -> Bounded:
    """Apply an exact function that is non-decreasing in each argument, such as the minimum of two arrays."""
    fp = arithmetic_of(*parts)
    if fp is not None and not all(x.whole for x in parts):
        parts = tuple(to_float(x, fp) for x in parts)
    value = function(*(x.value for x in parts))
    if all(x.certain for x in parts):
        grains = [x.grain for x in parts if x.grain]
        common = (min(g[0] for g in grains), max(g[1] for g in grains)) if len(grains) == len(parts) else None
        return exact(value, fp, common)
    return Bounded(value, function(*(x.low for x in parts)), function(*(x.high for x in parts)), fp)


def move(x: Bounded, function: Operation) -> Bounded:
    """Apply a function that moves or selects elements, such as a transposition or a maximum along an axis."""
    return apply_nondecreasing(function, (x,))


def _add(sign: int) -> Callable[[Bounded, Bounded, Arithmetic], Bounded]:
    def add(a: Bounded, b: Bounded, fp: Arithmetic) -> Bounded:
        value = a.value + b.value if sign > 0 else a.value - b.value
        s, t = a.terms(), b.terms()
        magnitude, count = s.magnitude + t.magnitude, s.count + t.count
        if a.grain and b.grain:
            own_grain = (min(a.grain[0], b.grain[0]), a.grain[1] + b.grain[1])
            if fits(own_grain, fp):
                return exact(value, fp, own_grain, chain=Chain(value, value, magnitude, count))
        low, high = (s.low + t.low, s.high + t.high) if sign > 0 else (s.low - t.high, s.high - t.low)
        chain = Chain(low, high, magnitude, count)
        # The kernel may add the other operand to a part of the sum, so the terms behind that part round once more.
        summed = ((x.summed - 1) * magnitude_of(y) for x, y in ((a, b), (b, a)) if x.summed > 1)
        apart = fp.accumulating.unit * sum(summed, np.zeros(()))
        if chain.count == 2:  # a single rounding
            return _widened(value, low - finite(apart), high + finite(apart), fp, 1, chain=chain)
        error = finite(chain.magnitude * (fp.unit * (chain.count - 1)) + fp.tiny * chain.count + apart)
        return with_bounds(value, low - error, high + error, fp, chain=chain)

    return add


def _corners(operation: Operation, a: Bounded, b: Bounded) -> tuple[Array, Array]:
    """The lowest and highest result of an operation that is monotonic in each operand: both are at ends of them."""
    ends = [[x.value] if x.certain else [x.low, x.high] for x in (a, b)]
    results = [operation(x, y) for x, y in itertools.product(*ends)]
    return functools.reduce(np.minimum, results), functools.reduce(np.maximum, results)


def _product(
    value: Array, low: Array, high: Array, a: Bounded, b: Bounded, fp: Arithmetic, growth: float = 1.0
) -> Bounded:
    """A product or quotient with the rounding errors of all its factors, multiplied in any order."""
    factors, known = a.factors + b.factors, a.rounded + b.rounded
    return _widened(value, low, high, fp, factors - 1 - known, growth, factors=factors, rounded=factors - 1)


def _scaled(a: Bounded, by: float, fp: Arithmetic) -> Bounded | None:
    """The exact product with a power of two; `None` if an element overflows or becomes subnormal."""
    value = a.value * by
    size = np.abs(value[value != 0])
    if abs(math.frexp(by)[0]) != HALF or not np.all((fp.smallest_normal <= size) & (size <= fp.largest)):
        return None
    fields: dict[str, Any] = {"factors": a.factors, "rounded": a.rounded, "growth": a.growth}
    if a.certain:
        own_grain = (a.grain[0] * abs(by), a.grain[1] * abs(by)) if a.grain else None
        return exact(value, fp, own_grain, **fields)
    low, high = (a.low * by, a.high * by) if by > 0 else (a.high * by, a.low * by)
    return with_bounds(value, low - fp.tiny / 2, high + fp.tiny / 2, fp, **fields)


def _constant(x: Bounded) -> float | None:
    """The value of an exact scalar; `None` for an array or a rounded one."""
    return float(x.value) if x.certain and np.ndim(x.value) == 0 and not isinstance(x.value, str) else None


def _multiply(a: Bounded, b: Bounded, fp: Arithmetic) -> Bounded:
    for x, by in ((a, _constant(b)), (b, _constant(a))):
        scaled = _scaled(x, by, fp) if by and np.ndim(x.value) else None
        if scaled is not None:
            return scaled
    value = a.value * b.value
    if a.grain and b.grain:
        own_grain = (a.grain[0] * b.grain[0], a.grain[1] * b.grain[1])
        if fits(own_grain, fp):
            return exact(value, fp, own_grain, factors=a.factors + b.factors, growth=a.magnifies() * b.magnifies())
    low, high = _corners(np.multiply, a, b)
    growth = a.magnifies() * b.magnifies() if a.factors + b.factors > 2 else 1.0
    return _product(value, low, high, a, b, fp, growth)


def divide(a: Bounded, b: Bounded, fp: Arithmetic) -> Bounded:
    """Divide; exact if all divisors are one power of two and the quotients fit into the type."""
    by = _constant(b)
    scaled = _scaled(a, 1 / by, fp) if by and np.ndim(a.value) else None
    if scaled is not None:
        return scaled
    value = np.divide(a.value, b.value)
    if a.grain and b.grain and b.grain[0] == b.grain[1] and np.all(b.value != 0):  # by powers of two
        own_grain = (a.grain[0] / b.grain[0], a.grain[1] / b.grain[1])
        if fits(own_grain, fp):
            return exact(value, fp, own_grain)
    low, high = _corners(np.divide, a, b)
    if not b.certain:
        through = (b.low <= 0) & (b.high >= 0) & (b.low != b.high)
        low, high = np.where(through, -np.inf, low), np.where(through, np.inf, high)
    if not fp.flushed:
        return _product(value, low, high, a, b, fp)
    low, high = low - fp.error("divide", low, low), high + fp.error("divide", high, high)
    vanishes = magnitude_of(b) > DIVIDES_TO_ZERO
    low, high = np.where(vanishes, np.minimum(low, 0), low), np.where(vanishes, np.maximum(high, 0), high)
    return _product(value, low, high, a, b, fp)


def _floor_divide(a: Bounded, b: Bounded, fp: Arithmetic) -> Bounded:
    """Floor division: where rounding may carry the quotient across an integer, both floors are correct."""
    quotient = divide(a, b, fp)
    return with_bounds(np.floor_divide(a.value, b.value), np.floor(quotient.low), np.floor(quotient.high), fp)


def _modulo(a: Bounded, b: Bounded, fp: Arithmetic) -> Bounded:
    """The remainder, by fmod or as a - b * floor(a / b)."""
    rest = _add(-1)(a, _multiply(_floor_divide(a, b, fp), b, fp), fp)
    return with_bounds(np.mod(a.value, b.value), rest.low, rest.high, fp)


def _power(a: Bounded, b: Bounded, fp: Arithmetic) -> Bounded:
    value = np.power(a.value, b.value)
    low, high = _corners(np.power, a, b)
    if not a.certain:
        inside = (a.low <= 0) & (a.high >= 0)
        low = np.where(inside, np.where(b.low < 0, -np.inf, np.minimum(low, 0)), low)
        high = np.where(inside & (b.low < 0), np.inf, high)
    base = np.where(np.abs(np.log2(np.abs(a.low))) > np.abs(np.log2(np.abs(a.high))), a.low, a.high)
    below, above = (fp.power_error(base, magnitude_of(b), end) for end in (low, high))
    return with_bounds(value, low - below, high + above, fp)


def _ordered(compare: Operation, certainly: Operation, possibly: Operation) -> Operation:
    """A comparison: true, false, or either where the operands' intervals overlap."""

    def calculate(a: Bounded, b: Bounded) -> Bounded:
        fp = a.arithmetic or b.arithmetic
        value = compare(a.value, b.value)
        if fp is None or (a.certain and b.certain):
            return exact(value, fp)
        x, y = to_float(a, fp), to_float(b, fp)
        low, high = certainly(x, y), possibly(x, y)
        return exact(value, fp) if np.array_equal(low, high) else Bounded(value, low, high, fp)

    return calculate


def _one_value(a: Bounded, b: Bounded) -> Any:
    return (a.low == a.high) & (b.low == b.high) & (a.low == b.low)


def _overlap(a: Bounded, b: Bounded) -> Any:
    return (a.low <= b.high) & (b.low <= a.high)


def require_integers(*operands: Bounded) -> None:
    """Raise TypeError if an operand of a bitwise operation is neither an integer nor a condition."""
    if any(np.asarray(x.value).dtype.kind not in "biu" for x in operands):
        raise TypeError("& | ^ ~ << >> need integers or conditions, not floats; int(x) converts")


def _bitwise(operation: Operation) -> Operation:
    def calculate(a: Bounded, b: Bounded) -> Bounded:
        require_integers(a, b)
        value = operation(a.value, b.value)
        fp = a.arithmetic or b.arithmetic
        if a.certain and b.certain:
            return exact(value, fp)
        return Bounded(value, *_corners(operation, a, b), fp)

    return calculate


def decreasing(function: Operation) -> Operation:
    """An exact function that decreases, such as the negation. It keeps the grain."""

    def call(x: Bounded) -> Bounded:
        value = function(x.value)
        if x.certain:
            return exact(value, x.arithmetic, x.grain)
        return Bounded(value, function(x.high), function(x.low), x.arithmetic)

    return call


def _absolute(x: Bounded) -> Bounded:
    value = np.abs(x.value)
    if x.certain:
        return exact(value, x.arithmetic, x.grain)
    low = np.where((x.low <= 0) & (x.high >= 0), 0, np.minimum(np.abs(x.low), np.abs(x.high)))
    return Bounded(value, low, magnitude_of(x), x.arithmetic)


def _where(condition: Bounded, a: Bounded, b: Bounded) -> Bounded:
    fp = arithmetic_of(condition, a, b)
    if fp is not None and not (a.whole and b.whole):
        a, b = to_float(a, fp), to_float(b, fp)
    if condition.certain:
        return replace(apply_nondecreasing(lambda x, y: np.where(condition.value, x, y), (a, b)), arithmetic=fp)
    yes, no = condition.low != 0, condition.high == 0
    low = np.where(yes, a.low, np.where(no, b.low, np.minimum(a.low, b.low)))
    high = np.where(yes, a.high, np.where(no, b.high, np.maximum(a.high, b.high)))
    return Bounded(np.where(condition.value, a.value, b.value), low, high, fp)


def rounding(
    name: str, function: Operation, least: float = -math.inf, most: float = math.inf, *, falls: bool = False
) -> Operation:
    """A monotonic function with the error that `Arithmetic.error` has for its name.

    The GPU's function gives no result below `least` or above `most`. `falls`: the function decreases.
    """

    def call(x: Bounded) -> Bounded:
        fp = x.arithmetic
        if fp is None:
            return plain(function(x.value))
        x = to_float(x, fp)
        value = np.asarray(function(x.value), dtype=fp.wide)
        first, last = (x.high, x.low) if falls else (x.low, x.high)
        low, high = (value, value) if x.certain else (function(first), function(last))
        low, high = low - fp.error(name, first, low), high + fp.error(name, last, high)
        return with_bounds(value, np.maximum(low, least), np.minimum(high, most), fp)

    return call


def _wave(name: str, function: Operation) -> Operation:
    """Sine or cosine: an error of the argument changes the result by at most that error."""

    def call(x: Bounded) -> Bounded:
        fp = x.arithmetic
        if fp is None:
            return plain(function(x.value))
        x = to_float(x, fp)
        value = function(x.value)
        off = fp.error(name, magnitude_of(x), value)
        if not x.certain:
            off = off + np.maximum(x.high - x.value, x.value - x.low)
        return with_bounds(value, np.maximum(value - off, -1), np.minimum(value + off, 1), fp)

    return call


def _moving(function: Operation) -> Operation:
    """A function that moves, repeats or selects elements; its axes and amounts are integers."""

    def call(x: Bounded, *amounts: Any, axis: Any = None) -> Bounded:
        options = {} if axis is None else {"axis": as_int(axis)}
        return move(x, lambda a: function(a, *map(_amount, amounts), **options))

    return call


def _amount(x: Any) -> Any:
    """An integer, a tuple of them or, for `repeat`, an array of them."""
    return x.value if not isinstance(x, tuple) and np.asarray(x.value).dtype.kind in "iu" else as_int(x)


def _transpose(x: Bounded, axes: tuple[Bounded, ...] | None = None) -> Bounded:
    order = None if axes is None else as_int(axes)
    return move(x, lambda a: np.transpose(a, order))


def _roll(x: Bounded, shift: Any, axis: Any = None) -> Bounded:
    amount = as_int(shift)  # NumPy would add up an array
    return move(x, lambda a: np.roll(a, amount, axis=as_int(axis)))


def _arange(start: Bounded, stop: Bounded | None = None, step: Bounded | None = None) -> Bounded:
    ends: list[Any] = [e if isinstance(e, tuple) else e.value for e in (start, stop, step) if e is not None]
    if any(map(np.ndim, ends)):
        raise TypeError("arange takes numbers, not arrays")
    return plain(np.arange(*ends), start.arithmetic)


def exact_sums(
    step: float, value: Array, magnitude: Array, fp: Arithmetic, terms: int, squares: Callable[[], Array]
) -> Bounded | None:
    """Sums of multiples of `step`, a power of two, that are exact in every order; `None` if one may be rounded.

    `magnitude` has the sums of the terms' magnitudes and `squares` gives those of their squares, shaped as `value`.
    `terms` is the number of terms of all sums together.
    """
    largest = float(np.max(magnitude, initial=0))
    if fp.random_signs:
        largest = min(largest, walk_bound(terms, squares(), value))
    if not fits((step, largest), fp.accumulating):
        return None
    return exact(value, fp.accumulating, (step, largest))


def _summation(function: Operation) -> Operation:
    """Make the bounded `np.sum` or `np.cumsum`, for any order of additions and the accumulator's precision."""
    running = function is np.cumsum

    def call(x: Bounded, axis: Any = None, keepdims: Any = None) -> Bounded:
        options = {"axis": as_int(axis)} if running else axis_options(axis, keepdims)

        def add(values: Any) -> Array:  # integers wrap in their own type, as on a GPU
            a = np.asarray(values)
            return np.asarray(function(a, dtype=a.dtype if a.dtype.kind in "iu" else None, **options))

        fp, value, along = x.arithmetic, add(x.value), as_int(axis) or 0
        if fp is None or x.whole:
            return exact(value, fp) if x.certain else Bounded(value, add(x.low), add(x.high), fp)
        magnitude, terms, sums_in = add(magnitude_of(x)), x.terms(), fp.accumulating
        length = int(np.shape(value)[along]) if running else np.size(x.value) // max(np.size(value), 1)
        if x.grain:
            total = exact_sums(x.grain[0], value, magnitude, fp, np.size(x.value), lambda: add(np.square(x.value)))
            if total is not None:
                return to_own_type(replace(total, summed=1 if running else length), fp)
        if terms.count > 1:
            magnitude = add(np.broadcast_to(terms.magnitude, np.shape(x.value)))
        count = length * terms.count
        if running:
            relative = _growing(fp, np.shape(value), along, terms.count)
        else:
            relative = np.asarray(sums_in.summing(count, np.size(value)) + (terms.count - 1) * fp.unit)
        off = finite(magnitude * relative + fp.tiny * (count if fp.flushed else 1))
        if fp.wanders(count) and not running and terms.count == 1:
            walk = walk_bound(np.size(x.value), add(np.square(magnitude_of(x))), value)
            off = np.minimum(off, sums_in.wandering(count, np.size(value), walk) + fp.tiny * count)
        low, high = (add(np.broadcast_to(end, np.shape(x.value))) for end in (terms.low, terms.high))
        low, high = low - off, high + off
        overflows = magnitude > sums_in.largest
        if overflows.any():  # a part of the terms may overflow although their sum does not
            below, above = (add(np.maximum(s * magnitude_of(x) * (np.sign(x.value) == s), 0)) for s in (-1, 1))
            low, high = np.where(below > sums_in.largest, -np.inf, low), np.where(above > sums_in.largest, np.inf, high)
        return to_own_type(with_bounds(value, low, high, sums_in, summed=1 if running else count), fp)

    return call


def _growing(fp: Arithmetic, shape: tuple[int, ...], axis: int, terms: int) -> Array:
    """The relative error of each running sum along `axis`: broadcasts to `shape`, and grows with the index.

    `terms` is the number of additions that each term consists of.
    """
    length, sums_in = shape[axis], fp.accumulating
    powers = [2**k for k in range(length.bit_length() + 1)]  # few values: a sum has the error of the next power of two
    errors = np.array([sums_in.summing(n * terms, math.prod(shape)) for n in powers])
    linear = np.arange(length) * terms * sums_in.unit * 1.001 + (terms - 1) * sums_in.unit
    steps = errors[np.ceil(np.log2(np.arange(1, length + 1))).astype(int)]
    relative = np.minimum(steps, linear) + (0 if sums_in is fp else (terms - 1) * fp.unit)
    return np.asarray(relative.reshape([length if i == axis % len(shape) else 1 for i in range(len(shape))]))


def walk_bound(terms: int, squares: Array, value: Array) -> float:
    """Bound every partial sum of terms with random signs (Hoeffding's inequality).

    The bound of each sum holds for a million orders of additions with probability 1 - 10^-12.

    Args:
        terms: Number of terms of all sums together.
        squares: For each sum, the sum of the squares of its terms.
        value: The sums.

    Returns:
        The largest bound; infinity if a sum exceeds its bound, as its signs are then not random.
    """
    bound = math.sqrt(2 * math.log(2 * max(float(terms), 1) * 1e18)) * np.sqrt(squares)
    return float(np.max(bound, initial=0)) if (np.abs(value) <= bound).all() else math.inf


ELEMENTWISE = frozenset("where abs sqrt exp log sin cos tanh minimum maximum".split())
SELECTING = frozenset(("where", "minimum", "maximum"))
PERMUTING = frozenset(("transpose", "reshape", "roll", "flip", "repeat"))  # these only move elements
TABLE: Mapping[Any, Callable[..., Bounded]] = {
    ast.Add: _operation(np.add, _add(1)), ast.Sub: _operation(np.subtract, _add(-1)),
    ast.Mult: _operation(np.multiply, _multiply), ast.Div: _operation(np.divide, divide),
    ast.FloorDiv: _operation(np.floor_divide, _floor_divide), ast.Mod: _operation(np.mod, _modulo),
    ast.Pow: _operation(np.power, _power),
    ast.BitAnd: _bitwise(np.bitwise_and), ast.BitOr: _bitwise(np.bitwise_or), ast.BitXor: _bitwise(np.bitwise_xor),
    ast.LShift: _bitwise(np.left_shift), ast.RShift: _bitwise(np.right_shift),
    ast.USub: decreasing(operator.neg), ast.UAdd: lambda x: x,
    ast.Eq: _ordered(np.equal, _one_value, _overlap),
    ast.NotEq: _ordered(np.not_equal, lambda a, b: ~_overlap(a, b), lambda a, b: ~_one_value(a, b)),
    ast.Lt: _ordered(np.less, lambda a, b: a.high < b.low, lambda a, b: a.low < b.high),
    ast.LtE: _ordered(np.less_equal, lambda a, b: a.high <= b.low, lambda a, b: a.low <= b.high),
    ast.Gt: _ordered(np.greater, lambda a, b: a.low > b.high, lambda a, b: a.high > b.low),
    ast.GtE: _ordered(np.greater_equal, lambda a, b: a.low >= b.high, lambda a, b: a.high >= b.low),
    "transpose": _transpose, "reshape": _moving(lambda x, *shape: np.reshape(x, shape)), "roll": _roll,
    "flip": _moving(np.flip), "pad": _moving(np.pad), "repeat": _moving(np.repeat),
    "where": _where,
    "abs": _absolute, "sqrt": rounding("sqrt", np.sqrt), "exp": rounding("exp", np.exp, least=0.0),
    "log": rounding("log", np.log), "tanh": rounding("tanh", np.tanh, -1.0, 1.0),
    "sin": _wave("sin", np.sin), "cos": _wave("cos", np.cos),
    "minimum": lambda a, b: apply_nondecreasing(np.minimum, (a, b)),
    "maximum": lambda a, b: apply_nondecreasing(np.maximum, (a, b)),
    "arange": _arange,
}  # fmt: skip

sums, running_sums = _summation(np.sum), _summation(np.cumsum)
