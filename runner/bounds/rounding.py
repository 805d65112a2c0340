"""How exactly a GPU computes in one floating-point type: its unit roundoff, and the published errors of its functions.

The errors are the maximum ulp and absolute errors of the CUDA C++ Programming Guide, "Mathematical Functions": the
largest of its versions 11 to 13. An ulp error there is the distance from the correctly rounded result, so half an ulp
is added. Functions of `-use_fast_math` have the errors of the intrinsic functions that replace them; what the guide
leaves open is from the PTX ISA.
"""

from __future__ import annotations

import enum
import functools
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

# Maximum ulp errors. Half types: CUDA's headers compute in float and round, except where the hardware approximates.
_MORE_ULPS = {  # the larger of float32's and float64's
    "rsqrt": 2, "exp2": 2, "log2": 2, "log10": 3, "expm1": 1, "log1p": 1, "erf": 2, "erfc": 5, "cbrt": 1, "asin": 2,
    "acos": 2, "atan": 2, "sinh": 3,
}  # fmt: skip
_ULPS: Mapping[str, Mapping[str, float]] = {
    "float16": {"exp": 2, "log": 2, "sin": 2, "cos": 2, "tanh": 2, "power": 2, **_MORE_ULPS},
    "bfloat16": {"exp": 2, "log": 2, "sin": 2, "cos": 2, "tanh": 2, "power": 2, **_MORE_ULPS},
    "float32": {"exp": 2, "log": 1, "sin": 2, "cos": 2, "tanh": 2, "power": 9, **_MORE_ULPS},
    "float64": {"exp": 1, "log": 1, "sin": 2, "cos": 2, "tanh": 2, "power": 2, **_MORE_ULPS, "erf": 4, "erfc": 8},
}
_FAST_SINE = {"sin": 2.0**-21.41, "cos": 2.0**-21.19}  # in [-pi, pi]; beyond, PTX promises nothing that helps
_FAST_DIVISION_ULPS = 2.0
_FAST_SQRT_ULPS = 3.0  # 1 since compute capability 5.2
_FAST_TANH = 2.0**-10.98  # relative
DIVIDES_TO_ZERO = 2.0**126  # a fast division by more than this gives 0
LEAST_WANDERING = 128  # terms
HALF_BYTES = 2
FAILURE = 1e-6  # probability with which one element of a correct kernel leaves a bound that holds almost surely


class Halves(enum.Enum):
    """How a kernel computes whose coarsest type is float16 or bfloat16, and whose YAML has no `compute`."""

    WIDE = enum.auto()  # in float32; what it stores is rounded once
    MIXED = enum.auto()  # element by element in the half type; sums in float32
    NARROW = enum.auto()  # in the half type throughout; a YAML says so with `compute`


@dataclass(frozen=True)
class Arithmetic:
    """The type that a kernel computes in, and what it may do there."""

    dtype: np.dtype[Any]
    fast: bool = False  # `-use_fast_math`, or intrinsic functions such as `__expf`; of float32 only
    depth: int | None = None  # longest chain of additions in a sum; `None`: any order
    random_signs: bool = False  # the inputs' signs are drawn at random, so no order of additions knows them
    accumulator: np.dtype[Any] | None = None  # the type that sums are held in; `None`: the kernel's own

    @functools.cached_property
    def accumulating(self) -> Arithmetic:
        """The arithmetic of sums."""
        return self if self.accumulator is None else replace(self, dtype=self.accumulator, accumulator=None)

    @functools.cached_property
    def _limits(self) -> Any:
        return ml_dtypes.finfo(self.dtype)  # type: ignore[no-untyped-call]  # NumPy's own does not know bfloat16

    @functools.cached_property
    def wide(self) -> np.dtype[Any]:
        """The type of the reference, far more precise."""
        return wider(self.dtype)

    @functools.cached_property
    def eps(self) -> float:
        """Distance from 1 to the next number."""
        return float(self._limits.eps)

    @functools.cached_property
    def unit(self) -> float:
        """The largest relative error of one rounding, with room for the errors of the reference's own type."""
        return self.eps / 2 * (1 + 2.0**-8) + float(np.finfo(self.wide).eps)

    @functools.cached_property
    def digits(self) -> float:
        """Integers up to this number are exact."""
        return 2 / self.eps

    @functools.cached_property
    def flushed(self) -> bool:
        """Whether subnormal numbers become 0."""
        return self.fast and self.dtype == np.float32

    @functools.cached_property
    def tiny(self) -> float:
        """The largest absolute error of one rounding near 0."""
        return float(self._limits.smallest_normal if self.flushed else self._limits.smallest_subnormal)

    @functools.cached_property
    def smallest_normal(self) -> float:
        """The smallest number that has all digits."""
        return float(self._limits.smallest_normal)

    @functools.cached_property
    def largest(self) -> float:
        """The largest finite number."""
        return float(self._limits.max)

    def relative(self, ulps: float, result: Array) -> Array:
        """The absolute error of a result that is off by `ulps` from the correctly rounded one."""
        return finite(np.abs(result) * ((2 * ulps + 1) * self.unit) + (ulps + 0.5) * self.tiny)

    def error(self, name: str, argument: Array, result: Array) -> Array:
        """The absolute error of a function's exact result, apart from what the error of its argument does.

        `name` is exp, log, sin, cos, tanh, sqrt, divide (which uses no argument), or a key of `_MORE_ULPS`.
        """
        if self.flushed and name in ("exp", "log", "log2", "sin", "cos", "tanh", "sqrt", "divide"):
            return self._fast_error(name, argument, result)
        return self.relative(_ULPS[self.dtype.name].get(name, 0.0), result)

    def _fast_error(self, name: str, argument: Array, result: Array) -> Array:
        match name:
            case "exp":
                ulps = 2 + np.floor(np.abs(1.173 * argument))
                return finite(np.abs(result) * ((2 * ulps + 1) * self.unit) + self.tiny)
            case "log" | "log2":
                inside = (argument >= 0.5 * (1 - self.eps)) & (argument <= 2 * (1 + self.eps))
                return finite(np.where(inside, 2.0**-21.41 + self.unit * np.abs(result), self.relative(3, result)))
            case "sin" | "cos":
                inside = np.abs(argument) <= math.pi * (1 + self.eps)
                return np.where(inside, _FAST_SINE[name] + self.unit, 2.0)
            case "tanh":
                return np.asarray(np.abs(result) * (_FAST_TANH + self.unit) + self.tiny)
        return self.relative(_FAST_SQRT_ULPS if name == "sqrt" else _FAST_DIVISION_ULPS, result)

    def power_error(self, base: Array, exponent: Array, result: Array) -> Array:
        """The absolute error of base ** exponent, by the function, or by multiplications if that is a small integer."""
        whole = (exponent == np.rint(exponent)) & (np.abs(exponent) <= 64)
        multiplied = np.where(whole, np.abs(exponent), 0) * self.unit
        ulps = _ULPS[self.dtype.name]["power"]
        relative = np.maximum(multiplied * 1.01, (2 * ulps + 1) * self.unit) + self.unit
        if self.flushed:  # exp2f(y * __log2f(x))
            binary = np.abs(np.log2(np.abs(base)))
            lost = np.abs(exponent) * (2.0**-22 + 5 * self.unit * binary)
            relative = np.maximum(relative, np.expm1(math.log(2) * lost) + 6 * self.unit)
        return finite(np.where(result == 0, 0, np.abs(result) * relative) + (ulps + 1) * self.tiny)

    def summing(self, count: int, sums: int) -> float:
        """The error of adding up `count` rounded terms, relative to the sum of their magnitudes.

        In any order it is at most (n - 1) u (Jeannerod and Rump, Improved error bounds for inner products in
        floating-point arithmetic, 2013). If no chain of additions is longer than d, it is at most d u / (1 - d u)
        (Higham, Accuracy and Stability of Numerical Algorithms, section 4.2). Where this
        says nothing because it is 1 or more, the bound is lambda sqrt(n) u (Higham and Mary, A new approach to
        probabilistic rounding error analysis, 2019), which holds for all `sums` at once with probability 1 - FAILURE.
        """
        n, unit = max(count - 1, 0), self.unit
        certain = n * unit
        if self.depth is not None and self.depth * unit < 1:
            certain = min(certain, self.depth * unit / (1 - self.depth * unit))
        certain += n * float(np.finfo(self.wide).eps)
        if not n or certain < 1:
            return certain
        chain = n if self.depth is None else min(n, self.depth)
        spread = math.sqrt(2 * math.log(2 * n * sums / FAILURE))
        exponent = spread * math.sqrt(chain) * unit + chain * unit**2
        return min(certain, math.expm1(exponent)) if exponent < 1 else certain

    def wanders(self, count: int) -> bool:
        """Whether `wandering` may give a narrower bound for a sum than `summing`."""
        return self.random_signs and count >= LEAST_WANDERING

    def wandering(self, count: int, sums: int, walk: float) -> float:
        """The error of a sum of `count` terms with random signs whose partial sums do not exceed `walk`.

        Each rounding is off by at most u times a sum of some of the terms, and in either direction: as the roundings
        of symmetric numbers have no bias, all of them are hardly ever off by more than lambda sqrt(n) times that.
        """
        exponent = math.sqrt(2 * math.log(2 * max(count, 1) * sums / FAILURE) * count) * self.unit
        return walk * math.expm1(exponent) if exponent < 1 else math.inf


def is_float(dtype: np.dtype[Any]) -> bool:
    """Whether a NumPy type holds fractions. NumPy itself does not know this of the types of ml_dtypes."""
    return dtype.kind == "f" or dtype in _OTHER_FLOATS


_OTHER_FLOATS = tuple(np.dtype(getattr(ml_dtypes, n)) for n in ("bfloat16", "float8_e4m3fn", "float8_e5m2"))


def wider(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """A type in which sums of `dtype` are exact (integers, modulo 2**64), or precise far beyond the bound."""
    if is_float(dtype):
        return np.dtype(np.longdouble if dtype == np.float64 else np.float64)
    return np.dtype({"b": np.bool_, "i": np.int64, "u": np.uint64}.get(dtype.kind, dtype))


def coarsest(*dtypes: np.dtype[Any] | None) -> np.dtype[Any] | None:
    """The floating-point type with the fewest digits; `None` if there is none. Nothing computes in 8 bits."""
    floats = [np.dtype(np.float32) if d.itemsize == 1 else d for d in dtypes if d is not None and is_float(d)]
    return max(floats, key=lambda d: float(ml_dtypes.finfo(d).eps), default=None)  # type: ignore[no-untyped-call]


def is_half(dtype: np.dtype[Any] | None) -> bool:
    """Whether a type is float16 or bfloat16."""
    return dtype is not None and is_float(dtype) and dtype.itemsize == HALF_BYTES


def of_halves(how: Arithmetic, halves: Halves) -> Arithmetic:
    """The arithmetic of a kernel that computes in `how` if that is a half type and nothing else is said."""
    if not is_half(how.dtype) or halves is Halves.NARROW:
        return how
    single = np.dtype(np.float32)
    return replace(how, dtype=single) if halves is Halves.WIDE else replace(how, accumulator=single)


def finite(error: Array) -> Array:
    """The error, but none of a result that is infinite or no number."""
    return np.where(np.isfinite(error), error, 0)


_SAMPLE = 4096


def grain(values: Array, most: float) -> tuple[float, float] | None:
    """The power of two of which all values are multiples, and the largest magnitude.

    `None` if the magnitude is more than `most` times the power, or a value is not finite: sums of such values are
    hardly ever exact.
    """
    flat = np.asarray(values).reshape(-1)
    for part in (flat[:_SAMPLE], flat):
        numbers = np.abs(part.astype(np.float64))
        if not np.isfinite(numbers).all() or not np.array_equal(numbers, np.abs(part)):
            return None
        numbers = numbers[numbers != 0]
        if not numbers.size:
            found = (1.0, 0.0)
            continue
        mantissa, exponent = np.frexp(numbers)
        bits = (mantissa * 2.0**53).astype(np.int64)
        lowest = np.log2((bits & -bits).astype(np.float64)).astype(np.int64) + exponent - 53
        found = (math.ldexp(1.0, int(lowest.min())), float(numbers.max()))
        if found[0] == 0 or found[1] / found[0] > most:
            return None
    return found
