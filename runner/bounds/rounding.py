"""Rounding errors of a GPU: the unit roundoff of a floating-point type, and the published errors of CUDA's functions.

The errors are the maximum ulp and absolute errors in "Mathematical Functions" of the CUDA C++ Programming Guide, the
largest of its versions 11 to 13. The guide measures an ulp error from the correctly rounded result, so half an ulp is
added. With `-use_fast_math` the errors are those of the intrinsic functions; the PTX ISA fills the guide's gaps.
"""

from __future__ import annotations

import enum
import functools
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
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
_FAST_SINE = {"sin": 2.0**-21.41, "cos": 2.0**-21.19}  # absolute, in [-pi, pi]; PTX gives no useful bound outside
_FAST_DIVISION_ULPS = 2.0
_FAST_SQRT_ULPS = 3.0  # 1 since compute capability 5.2
_FAST_TANH = 2.0**-10.98  # relative
DIVIDES_TO_ZERO = 2.0**126  # a fast division by more than this gives 0
MIN_WANDERING = 128  # terms of a sum from which the probabilistic bound may be the narrower one
HALF_BYTES = 2
FAILURE = 1e-6  # probability that an element of a correct kernel exceeds a probabilistic bound


class Halves(enum.Enum):
    """How a kernel whose least precise type is float16 or bfloat16 computes, if its YAML has no `compute`."""

    WIDE = enum.auto()  # in float32; results are rounded when they are stored
    MIXED = enum.auto()  # elementwise operations in the half type, sums in float32
    NARROW = enum.auto()  # everything in the half type; a YAML says so with `compute`


@dataclass(frozen=True)
class Arithmetic:
    """The type in which a kernel computes, and the freedom that it has there."""

    dtype: np.dtype[Any]
    fast: bool = False  # `-use_fast_math`, or intrinsic functions such as `__expf`; affects float32 only
    depth: int | None = None  # longest chain of additions in a sum; `None`: any order
    random_signs: bool = False  # the inputs' signs are random and independent of the order of additions
    accumulator: np.dtype[Any] | None = None  # the type that holds sums; `None`: `dtype`

    wide: np.dtype[Any] = field(init=False, compare=False)  # the type of the reference, which is far more precise
    eps: float = field(init=False, compare=False)  # machine epsilon: the distance from 1 to the next number
    unit: float = field(init=False, compare=False)  # unit roundoff u, plus a margin for that of the reference
    digits: float = field(init=False, compare=False)  # 2**(bits of the significand): integers up to it are exact
    flushed: bool = field(init=False, compare=False)  # whether subnormal numbers become 0
    tiny: float = field(init=False, compare=False)  # the largest absolute error of one rounding near 0
    smallest_normal: float = field(init=False, compare=False)  # the smallest positive normal number
    largest: float = field(init=False, compare=False)  # the largest finite number

    def __post_init__(self) -> None:
        limits = ml_dtypes.finfo(self.dtype)  # type: ignore[no-untyped-call]  # NumPy's own does not know bfloat16
        wide, eps, flushed = wider(self.dtype), float(limits.eps), self.fast and self.dtype == np.float32
        vars(self).update(
            wide=wide,
            eps=eps,
            unit=eps / 2 * (1 + 2.0**-8) + float(np.finfo(wide).eps),
            digits=2 / eps,
            flushed=flushed,
            tiny=float(limits.smallest_normal if flushed else limits.smallest_subnormal),
            smallest_normal=float(limits.smallest_normal),
            largest=float(limits.max),
        )

    @functools.cached_property
    def accumulating(self) -> Arithmetic:
        """The arithmetic of sums."""
        return self if self.accumulator is None else replace(self, dtype=self.accumulator, accumulator=None)

    def relative(self, ulps: float, result: Array) -> Array:
        """The absolute error of results that are off by `ulps` from the correctly rounded ones, shaped as `result`."""
        return finite(np.abs(result) * ((2 * ulps + 1) * self.unit) + (ulps + 0.5) * self.tiny)

    def error(self, name: str, argument: Array, result: Array) -> Array:
        """The largest absolute error of each exact result of a function, for exact arguments of the same shape.

        `name` is exp, log, sin, cos, tanh, sqrt, divide (which ignores the arguments), or a key of `_MORE_ULPS`.
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
        """The absolute error of base ** exponent, by pow or, for integers up to 64, by multiplications; as `error`."""
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
        """The error of summing `count` terms, relative to the sum of their magnitudes.

        In any order it is at most (n - 1) u (Jeannerod and Rump, Improved error bounds for inner products in
        floating-point arithmetic, 2013). If no chain of additions is longer than d, it is at most d u / (1 - d u)
        (Higham, Accuracy and Stability of Numerical Algorithms, section 4.2). Where these are 1 or more, the bound is
        lambda sqrt(n) u (Higham and Mary, A new approach to probabilistic rounding error analysis, 2019), which holds
        for all `sums` sums at once with probability 1 - FAILURE.
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
        """Whether `wandering` may bound a sum more narrowly than `summing`."""
        return self.random_signs and count >= MIN_WANDERING

    def wandering(self, count: int, sums: int, walk: float) -> float:
        """The absolute error of a sum of `count` terms with random signs whose partial sums do not exceed `walk`.

        Each rounding error is at most u times a partial sum, and unbiased because the numbers are symmetric. So their
        sum exceeds lambda sqrt(n) u times `walk` with probability FAILURE at most, for all `sums` sums together.
        """
        exponent = math.sqrt(2 * math.log(2 * max(count, 1) * sums / FAILURE) * count) * self.unit
        return walk * math.expm1(exponent) if exponent < 1 else math.inf


def is_float(dtype: np.dtype[Any]) -> bool:
    """Whether a NumPy type is a floating-point type. NumPy's `kind` does not tell for the types of ml_dtypes."""
    return dtype.kind == "f" or dtype in _OTHER_FLOATS


_OTHER_FLOATS = tuple(np.dtype(getattr(ml_dtypes, n)) for n in ("bfloat16", "float8_e4m3fn", "float8_e5m2"))


def wider(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The reference's type for `dtype`: 64 bits for integers (sums modulo 2**64), a far more precise one for floats."""
    if is_float(dtype):
        return np.dtype(np.longdouble if dtype == np.float64 else np.float64)
    return np.dtype({"b": np.bool_, "i": np.int64, "u": np.uint64}.get(dtype.kind, dtype))


def least_precise(*dtypes: np.dtype[Any] | None) -> np.dtype[Any] | None:
    """The floating-point type of lowest precision, `None` if none is a float. 8-bit floats count as float32."""
    floats = [np.dtype(np.float32) if d.itemsize == 1 else d for d in dtypes if d is not None and is_float(d)]
    return max(floats, key=lambda d: float(ml_dtypes.finfo(d).eps), default=None)  # type: ignore[no-untyped-call]


def is_half(dtype: np.dtype[Any] | None) -> bool:
    """Whether a type is float16 or bfloat16."""
    return dtype is not None and is_float(dtype) and dtype.itemsize == HALF_BYTES


def with_halves(fp: Arithmetic, halves: Halves) -> Arithmetic:
    """The arithmetic of a kernel under an assumption on half types; `fp` itself for other types."""
    if not is_half(fp.dtype) or halves is Halves.NARROW:
        return fp
    single = np.dtype(np.float32)
    return replace(fp, dtype=single) if halves is Halves.WIDE else replace(fp, accumulator=single)


def finite(error: Array) -> Array:
    """The error with infinity and NaN replaced by 0, as an infinite result has no rounding error."""
    return np.where(np.isfinite(error), error, 0)


_SAMPLE = 4096  # elements that are looked at first: random floats fail there already


def grain(values: Array, most: float) -> tuple[float, float] | None:
    """The largest power of two of which all values are multiples, and the largest magnitude.

    `None` if their quotient exceeds `most`, such as `Arithmetic.digits`, or if a value is not finite: sums of such
    values are hardly ever exact.
    """
    flat, step, largest = np.asarray(values).reshape(-1), 1.0, 0.0
    for part in (flat[:_SAMPLE], flat):
        numbers = np.abs(part.astype(np.float64))
        if not np.isfinite(numbers).all() or not np.array_equal(numbers, np.abs(part)):
            return None
        numbers = numbers[numbers != 0]
        if numbers.size:
            mantissa, exponent = np.frexp(numbers)
            bits = (mantissa * 2.0**53).astype(np.int64)
            lowest = np.log2((bits & -bits).astype(np.float64)).astype(np.int64) + exponent - 53
            step, largest = math.ldexp(1.0, int(lowest.min())), float(numbers.max())
            if step == 0 or largest / step > most:
                return None
    return step, largest
