"""Compares a kernel's outputs with the expected ones: integers exactly, floats within a bound of the rounding error."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from runner.errors import UsageError
from runner.kernel.arrays import DType, is_float
from runner.kernel.declaration import Tolerance
from runner.kernel.pieces import in_pieces
from runner.kernel.precision import Arithmetic, wider
from runner.kernel.reference import ExpectedArray

Array = NDArray[Any]
Mask = NDArray[np.bool_]

# The bytes of an output before a checked launch. In floats they are NaN, which differs from every expected value.
POISON = 0xA5
POISON_FLOAT = 0xFF
POISON_MIXED = 0x7F  # in structures with both: NaN or a huge number, and an unlikely integer
INT_BYTES = 4  # a shorter integer may happen to be the poison
SHOWN = 5  # mismatches listed one by one


@dataclass(frozen=True)
class CheckResult:
    """Whether a launch gave the right answer: how many elements differ, of how many, and the first that do."""

    mismatches: int
    compared: int
    reason: str = ""
    note: str = ""  # on a right answer
    exact: bool = False  # whether every element had to be the expected value itself
    error_ulp: float | None = None  # the largest error of a float, in units in the last place; `None` for integers
    undecided: int = 0  # elements that rounding errors may change by any amount
    further_inputs: int = 0  # sets of other inputs that were launched and checked
    tied: str = ""  # on a wrong answer, that it may be another order of equal keys

    @property
    def ok(self) -> bool:
        """Whether no element differs."""
        return self.mismatches == 0


@dataclass(frozen=True)
class _Judged:
    """Elements of an output, judged one by one."""

    wrong: Mask
    unlikely: Mask | bool = False  # right, but hardly by rounding alone
    open: Mask | bool = False  # right, as anything would be
    error_ulp: float = 0.0  # the largest error


@dataclass(frozen=True)
class _Part:
    """The same elements of all that is known of an output, each of shape (n,); `None` where it is not given."""

    values: Array
    magnitude: Array | None
    error: Array | None
    low: Array | None
    high: Array | None
    likely_low: Array | None
    likely_high: Array | None

    def __getitem__(self, at: Any) -> _Part:
        return _Part(*(None if a is None else a[at] for a in vars(self).values()))  # type: ignore[arg-type]


def poison_byte(dtype: DType) -> int:
    """The byte that poisons an array."""
    floats = {number.is_float for _, number in dtype.leaves()}
    return POISON_MIXED if len(floats) > 1 else POISON_FLOAT if True in floats else POISON


def check(
    actual: Mapping[str, Array],
    expected: Mapping[str, ExpectedArray],
    depth: int | None = None,
    tolerance: Tolerance | None = None,
) -> CheckResult:
    """Compare the expected outputs with the actual ones, element by element.

    `depth` is the longest chain of rounded operations in the kernel; `None` for the reference's own. Where a
    `tolerance` is given, floats may differ by that in place of their bounds.
    """
    mismatches = compared = unlikely = undecided = 0
    tolerable = False  # whether some tolerance would let a wrong element pass
    listed: list[str] = []
    furthest: tuple[float, str] = (0.0, "")
    added: list[str] = []  # outputs that the kernel may add to
    error: float | None = None
    for name, right in expected.items():
        got = actual[name].ravel()
        part, defined = _flat(name, right, actual[name].shape)
        judged = _compare(got, part, right, depth, tolerance)
        wrong = judged.wrong & defined
        compared += int(np.count_nonzero(defined))
        unlikely += int(np.count_nonzero(judged.unlikely & defined))
        undecided += int(np.count_nonzero(judged.open & defined & ~wrong))
        if is_float(got.dtype):
            error = max(error or 0.0, judged.error_ulp)
        where = np.flatnonzero(wrong)
        mismatches += len(where)
        if len(where) == np.count_nonzero(defined) and _is_sum(got[where], part.values[where]):
            added.append(f"'{name}'")
        for i in where[: SHOWN - len(listed)]:
            allowed = "" if listed else _allowed(got[i : i + 1], part[i : i + 1], right, depth, tolerance)
            listed.append(f"{name}[{i}] is {_found(got[i : i + 1])}, expected {_show(part.values[i])}{allowed}")
        if len(where) and is_float(got.dtype):
            furthest = max(furthest, _furthest(name, got, part.values, where))
            tolerable |= bool(np.any(np.isfinite(got[where]) & np.isfinite(part.values[where])))
    if not mismatches:
        exact = tolerance is None and all(_is_exact(right, actual[name].dtype) for name, right in expected.items())
        note = _note(unlikely, undecided)
        if not compared and any(a.size for a in actual.values()):
            note = "no element was compared: the reference leaves all of them undefined" if expected else note
        return CheckResult(0, compared, note=note, exact=exact, error_ulp=error, undecided=undecided)
    more = f", and {mismatches - len(listed)} more" if mismatches > len(listed) else ""
    reason = f"{mismatches} of {compared} elements differ: {'; '.join(listed)}{more}"
    if furthest[1]:
        reason += f"; the largest error is {furthest[0]:.3g} ulp, at {furthest[1]}"
    reason += _hints(added, tolerable=tolerable and tolerance is None)
    return CheckResult(mismatches, compared, reason, error_ulp=error)


def _hints(added: Sequence[str], *, tolerable: bool) -> str:
    """What may be wrong in the YAML, not in the kernel."""
    hints = [f"; if the kernel adds to {' and '.join(added)}, use role: inout and fill: zeros"] if added else []
    hints += ["; set 'tolerance' in the YAML if the kernel is meant to be less exact"] if tolerable else []
    return "".join(hints)


def _compare(got: Array, part: _Part, right: ExpectedArray, depth: int | None, tolerance: Tolerance | None) -> _Judged:
    """Judge all elements of an output, in pieces."""
    if is_float(got.dtype) and right.bounds is None and right.error is None and tolerance is None:
        _error(Arithmetic(got.dtype), right.depth if depth is None else depth)  # says if nothing can be checked
    wrong, unlikely, free = (np.zeros(got.shape, np.bool_) for _ in range(3))

    def judge(at: slice) -> float:
        judged = _judge(got[at], part[at], right, depth, tolerance)
        wrong[at], unlikely[at], free[at] = judged.wrong, judged.unlikely, judged.open
        return judged.error_ulp

    error = max(in_pieces(judge, len(got)), default=0.0)
    if right.judge is not None and wrong.any() and not is_float(got.dtype):
        wrong = right.judge(got, wrong)
    return _Judged(wrong, unlikely, free, error)


def _note(unlikely: int, undecided: int) -> str:
    notes = []
    if unlikely:
        notes.append(
            f"{unlikely} elements are within the bound of the rounding error, but further from the reference than "
            "independent rounding errors are"
        )
    if undecided:
        notes.append(f"{undecided} elements could not be checked: rounding errors may change them by any amount")
    return "; ".join(notes)


def _flat(name: str, right: ExpectedArray, shape: tuple[int, ...]) -> tuple[_Part, Mask]:
    """What is known of an output, in one dimension, and which of its elements are defined."""
    low, high = right.bounds or (None, None)
    likely_low, likely_high = right.likely or (None, None)
    error = None if right.error is None else np.asarray(right.error)
    known = (right.values, right.magnitude, error, low, high, likely_low, likely_high)
    defined = np.True_ if right.defined is None else right.defined
    if tuple(n for n in right.values.shape if n != 1) != tuple(n for n in shape if n != 1):
        hint = "; write full(value, shape) if all elements are the same" if right.values.size == 1 else ""
        raise UsageError(f"the reference gives '{name}' the shape {right.values.shape}, the kernel {shape}{hint}")
    try:
        # Axes of the length 1 may stand elsewhere.
        same = (a.reshape(shape) if a is not None and a.shape == right.values.shape else a for a in known)
        flat = (None if a is None else np.broadcast_to(a, shape).ravel() for a in same)
        return _Part(*flat), np.broadcast_to(defined, shape).ravel()  # type: ignore[arg-type]
    except ValueError:
        undefined = right.values.shape == shape
        what, given = ("undefined_where", np.shape(defined)) if undefined else ("the reference", right.values.shape)
        raise UsageError(f"{what} gives '{name}' the shape {given}, the kernel {shape}") from None


def _is_exact(right: ExpectedArray, dtype: np.dtype[Any]) -> bool:
    if not is_float(dtype):
        return True
    if right.bounds is not None:
        return False
    if right.error is not None:
        return not np.any(right.error)
    if right.magnitude is None:
        return False
    summable = 0.0 if right.granule is None else right.granule * Arithmetic(dtype).digits
    return bool(np.all(right.magnitude <= summable))


def _judge(got: Array, part: _Part, right: ExpectedArray, depth: int | None, tolerance: Tolerance | None) -> _Judged:
    if not is_float(got.dtype):
        return _Judged(_wrong_integers(got, part))
    values = part.values
    how = Arithmetic(got.dtype)
    with np.errstate(over="ignore", invalid="ignore"):
        if got.dtype.itemsize == 1:  # conversions to 8 bits saturate
            values = np.clip(values, -how.largest, how.largest)
        rounded = values.astype(got.dtype, copy=False)
        free = np.zeros(got.shape, np.bool_)
        if part.low is not None and part.high is not None:
            free = np.isneginf(part.low) & np.isposinf(part.high)
        if np.array_equal(got, rounded):
            return _Judged(np.zeros(got.shape, np.bool_), open=free)  # no bound is needed
        wide = np.promote_types(values.dtype, how.wide) if values.dtype.kind == "f" else how.wide
        exact, found = values.astype(wide), got.astype(wide)
        same = (found == exact) | (got == rounded) | (np.isnan(found) & np.isnan(exact))
        differs = np.isfinite(found) & np.isfinite(exact) & (found != exact)
        error = float((np.abs(found - exact)[differs] / ulp(exact[differs], got.dtype)).max(initial=0.0))
        if tolerance is not None:
            limit = np.maximum(tolerance.atol + tolerance.rtol * np.abs(exact), tolerance.ulp * ulp(exact, got.dtype))
            return _Judged(~(same | ((np.abs(found - exact) <= limit) & np.isfinite(exact))), error_ulp=error)
        low, high = _bounds(exact, part, right, depth, how)
        wrong = ~(same | ((low <= found) & (found <= high)) | free)
        if wrong.any():  # a result in a wider type than the output's is rounded once more
            low, high = (np.clip(b, -how.largest, how.largest) if got.dtype.itemsize == 1 else b for b in (low, high))
            ends = (b.astype(got.dtype).astype(wide) for b in (low, high))
            wrong &= ~((next(ends) <= found) & (found <= next(ends)))
        if part.likely_low is None or part.likely_high is None:
            return _Judged(wrong, open=free, error_ulp=error)
        unlikely = ~(same | ((part.likely_low <= found) & (found <= part.likely_high)) | free | wrong)
        return _Judged(wrong, unlikely, free, error)


def _wrong_integers(got: Array, part: _Part) -> Mask:
    values = part.values
    if got.dtype == np.bool_:  # bytes other than 0 and 1 are not true
        got, values = got.view(np.uint8), values.astype(np.bool_)
    # A wider integer result wraps to the array's own type, as it does on the GPU.
    wrong = np.asarray(got != values.astype(got.dtype))
    if part.error is not None:
        wrong &= np.abs(got.astype(np.float64) - values) > part.error
    if part.low is not None and part.high is not None:
        wrong &= ~((np.trunc(part.low) <= got) & (got <= np.trunc(part.high)))
    return wrong


def _bounds(exact: Array, part: _Part, right: ExpectedArray, depth: int | None, how: Arithmetic) -> tuple[Array, Array]:
    if part.low is not None and part.high is not None:
        return part.low, part.high
    if part.error is not None:
        limit = np.where(part.error > 0, part.error + (how.eps / 2 * np.abs(exact) + how.tiny / 2), 0)
    else:
        magnitude = np.abs(exact) if part.magnitude is None else part.magnitude.astype(exact.dtype)
        limit = _error(how, right.depth if depth is None else depth) * magnitude
        limit += np.where(magnitude > 0, how.tiny, 0)
        if right.granule is not None:
            limit = np.where(magnitude <= right.granule * how.digits, 0, limit)
    # Infinity is close to nothing but itself: no infinite value and no infinite bound lets a number pass.
    usable = np.isfinite(exact) & np.isfinite(limit)
    low, high = np.where(usable, exact - limit, np.nan), np.where(usable, exact + limit, np.nan)
    return np.where(low < -how.largest, -np.inf, low), np.where(high > how.largest, np.inf, high)


def _error(how: Arithmetic, depth: int) -> float:
    """The largest error of a result, relative to its magnitude.

    For a chain of n rounded operations it is n * u / (1 - n * u), where u is the unit roundoff, half of eps (Higham,
    Accuracy and Stability of Numerical Algorithms, lemma 3.1 and section 4.2).
    """
    n, unit = max(depth, 1), how.eps / 2
    if n * unit >= 1:
        raise UsageError(f"after {n} rounded operations in a chain, no digit of {how.dtype} is left to check")
    return n * unit / (1 - n * unit)


def ulp(values: Array, dtype: np.dtype[Any]) -> Array:
    """The unit in the last place of each value, were it of the type `dtype`."""
    limits = ml_dtypes.finfo(dtype)  # type: ignore[no-untyped-call]  # NumPy's own does not know bfloat16
    finite = np.where(np.isfinite(values), values, 0)
    least = int(limits.minexp)
    exponent = np.maximum(np.where(finite == 0, least, np.frexp(finite)[1] - 1), least)
    return np.asarray(np.ldexp(float(limits.eps), exponent))


def _allowed(got: Array, part: _Part, right: ExpectedArray, depth: int | None, tolerance: Tolerance | None) -> str:
    """What the first wrong element may differ by; empty for integers."""
    if not is_float(got.dtype):
        return ""
    if tolerance is not None:
        return f" (allowed {tolerance})"
    with np.errstate(over="ignore", invalid="ignore"):
        exact = part.values.astype(wider(got.dtype))
        low, high = _bounds(exact, part, right, depth, Arithmetic(got.dtype))
        limit = float(np.fmax(high - exact, exact - low)[0])
    if np.isnan(limit):
        return ""
    return f" (allowed {limit:.2g})" if limit else " (allowed 0: the result is exact)"


def _furthest(name: str, got: Array, values: Array, where: NDArray[np.intp]) -> tuple[float, str]:
    """The largest error among the wrong elements, in ulp, and the element that has it."""
    wide = wider(got.dtype)
    with np.errstate(over="ignore", invalid="ignore"):
        exact = values[where].astype(wide)
        errors = np.abs(got[where].astype(wide) - exact) / ulp(exact, got.dtype)
    errors = np.where(np.isfinite(errors), errors, 0)
    worst = int(np.argmax(errors))
    return (float(errors[worst]), f"{name}[{where[worst]}]") if errors[worst] else (0.0, "")


def _found(one: Array) -> str:
    """An element as text. Poison is `unwritten memory`: no launch wrote it, or a launch copied unwritten memory."""
    value, content = one[0], one.tobytes()
    floats = is_float(one.dtype)
    poisoned = content == bytes([POISON_FLOAT if floats else POISON]) * len(content)
    if poisoned and len(content) >= (2 if floats else INT_BYTES):
        return "unwritten memory"
    return f"the byte {content[0]}" if one.dtype == np.bool_ and content[0] > 1 else _show(value)


def _is_sum(got: Array, expected: Array) -> bool:
    """Whether all elements may be sums of the poison and what is expected."""
    if is_float(got.dtype):
        return bool(got.size and np.isnan(got).all() and np.isfinite(expected).all())
    if got.dtype.kind not in "iu" or got.dtype.itemsize < INT_BYTES:
        return False
    poison = np.frombuffer(bytes([POISON]) * got.dtype.itemsize, got.dtype)
    return bool(expected.any() and np.array_equal(got, expected.astype(got.dtype) + poison))


def _show(value: Any) -> str:
    return f"{value:.9g}" if isinstance(value, float | np.floating) else str(value)
