"""The acceptance interval of each element of an output: the values that pass the check.

It follows from the reference's bounds, its stated error, or the magnitudes of its terms. The YAML's `tolerance`
replaces them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from runner.bounds.expected import ExpectedArray, Tolerance
from runner.bounds.rounding import Arithmetic, Halves, is_float, with_halves
from runner.errors import UsageError

Array = NDArray[Any]
Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Elements:
    """The expected values of n elements of an output, with what bounds them. Arrays have the shape (n,)."""

    depth: int  # the longest chain of rounded operations
    granule: float | None  # each element is a sum of multiples of this; `None` if unknown
    tolerance: Tolerance | None
    values: Array
    magnitude: Array | None
    error: Array | None
    low: Array | None
    high: Array | None

    def __getitem__(self, index: Any) -> Elements:
        arrays = ("values", "magnitude", "error", "low", "high")
        return replace(self, **{n: a[index] for n in arrays if (a := getattr(self, n)) is not None})

    def open(self) -> Mask:
        """The mask of elements that accept any value, because their rounding error is unbounded."""
        if self.low is None or self.high is None:
            return np.zeros(self.values.shape, np.bool_)
        return np.isneginf(self.low) & np.isposinf(self.high)

    def is_exact(self, dtype: np.dtype[Any]) -> bool:
        """Whether only the expected values themselves pass."""
        if not is_float(dtype):
            return self.low is None and (self.error is None or not np.any(self.error))
        if self.tolerance is not None or self.low is not None:
            return False
        if self.error is not None:
            return not np.any(self.error)
        if self.magnitude is None:
            return False
        return bool(np.all(self.magnitude <= (self.granule or 0.0) * _sums_in(dtype).digits))


def elements(
    name: str, expected: ExpectedArray, shape: tuple[int, ...], depth: int | None, tolerance: Tolerance | None
) -> tuple[Elements, Mask]:
    """Flatten an output's expected values.

    Args:
        name: The output's, for messages.
        expected: What the reference gives for it.
        shape: The shape of the kernel's array. Axes of length 1 may be at other places in the reference's.
        depth: The longest chain of rounded operations in the kernel; `None` for the reference's own.
        tolerance: The YAML's; it replaces the bounds.

    Returns:
        The elements, and the mask of those that are defined, shape (n,).

    Raises:
        UsageError: The reference gives another shape.
    """
    own = expected.values.shape
    if tuple(n for n in own if n != 1) != tuple(n for n in shape if n != 1):
        hint = "; write full(value, shape) if all elements are the same" if expected.values.size == 1 else ""
        raise UsageError(f"the reference gives '{name}' the shape {own}, the kernel {shape}{hint}")

    def flat(array: Any, what: str = "the reference") -> Any:
        if array is None:
            return None
        if np.shape(array) == own:
            array = np.reshape(array, shape)
        try:
            return np.broadcast_to(array, shape).ravel()
        except ValueError:
            raise UsageError(f"{what} gives '{name}' the shape {np.shape(array)}, the kernel {shape}") from None

    depth = expected.depth if depth is None else depth
    arrays = (expected.values, expected.magnitude, expected.error, *(expected.bounds or (None, None)))
    defined = np.True_ if expected.defined is None else expected.defined
    return Elements(depth, expected.granule, tolerance, *map(flat, arrays)), flat(defined, "undefined_where")


def interval(expected: Elements, dtype: np.dtype[Any], exact: Array) -> tuple[Array, Array]:
    """The acceptance interval of each float, before rounding to the output's type.

    Args:
        expected: The elements.
        dtype: The floating-point type of the output.
        exact: The expected values in a wider type, shape (n,).

    Returns:
        The lowest and the highest correct values, shape (n,). NaN where only the expected value itself passes, such as
        infinity.

    Raises:
        UsageError: The chain of operations is so long that no digit of the type is certain.
    """
    fp = Arithmetic(dtype)
    if expected.tolerance is not None:
        t = expected.tolerance
        limit = np.maximum(t.atol + t.rtol * np.abs(exact), t.ulp * ulp(exact, dtype))
        return _around(exact, np.where(np.isfinite(exact), limit, np.nan))
    if expected.low is not None and expected.high is not None:
        return expected.low, expected.high
    if expected.error is not None:
        limit = np.where(expected.error > 0, expected.error + (fp.eps / 2 * np.abs(exact) + fp.tiny / 2), 0)
    else:
        magnitude = np.abs(exact) if expected.magnitude is None else expected.magnitude.astype(exact.dtype)
        adds = _sums_in(dtype)
        limit = chain_error(adds, expected.depth) * magnitude
        limit += np.where(magnitude > 0, fp.tiny, 0)
        if expected.granule is not None:
            limit = np.where(magnitude <= expected.granule * adds.digits, 0, limit)
    low, high = _around(exact, np.where(np.isfinite(exact) & np.isfinite(limit), limit, np.nan))
    return np.where(low < -fp.largest, -np.inf, low), np.where(high > fp.largest, np.inf, high)


def _around(exact: Array, limit: Array) -> tuple[Array, Array]:
    return exact - limit, exact + limit


def _sums_in(dtype: np.dtype[Any]) -> Arithmetic:
    """The arithmetic of sums that end in a type: of half types, float32."""
    return with_halves(Arithmetic(dtype), Halves.MIXED).accumulating


def chain_error(fp: Arithmetic, depth: int) -> float:
    """The largest relative error of a chain of n = `depth` rounded operations: n u / (1 - n u).

    u is the unit roundoff (Higham, Accuracy and Stability of Numerical Algorithms, lemma 3.1 and section 4.2). Raises
    UsageError if n u is 1 or more.
    """
    n, unit = max(depth, 1), fp.eps / 2
    if n * unit >= 1:
        raise UsageError(
            f"the error bound of {n} chained operations in {fp.dtype} exceeds 100 %; accumulate in a wider type"
        )
    return n * unit / (1 - n * unit)


def ulp(values: Array, dtype: np.dtype[Any]) -> Array:
    """The unit in the last place of each value in the type `dtype`, shaped as `values`."""
    limits = ml_dtypes.finfo(dtype)  # type: ignore[no-untyped-call]  # NumPy's own does not know bfloat16
    finite = np.where(np.isfinite(values), values, 0)
    least = int(limits.minexp)
    exponent = np.maximum(np.where(finite == 0, least, np.frexp(finite)[1] - 1), least)
    return np.asarray(np.ldexp(float(limits.eps), exponent))
