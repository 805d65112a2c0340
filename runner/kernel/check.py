"""Compares a kernel's outputs with the expected ones: integers exactly, floats within their acceptance intervals."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from runner.bounds.acceptance import Elements, Mask, elements, interval, ulp
from runner.bounds.chunked import in_pieces
from runner.bounds.expected import ExpectedArray, Tolerance
from runner.bounds.power import Power, power_of
from runner.bounds.rounding import Arithmetic, is_float, wider
from runner.kernel.arrays import DType

Array = NDArray[Any]

# The bytes of an output before a checked launch. In floats they are NaN, which differs from every expected value.
POISON = 0xA5
POISON_FLOAT = 0xFF
POISON_MIXED = 0x7F  # in structures with both: NaN or a huge number, and an unlikely integer
INT_BYTES = 4  # shorter integers may equal the poison by chance
SHOWN = 5  # mismatches listed one by one
# Errors that rounding may explain: up to 10^4 ulp in a quarter of the elements, or 64 ulp in all of them, and at most
# 1 % (4 ulp in types with fewer digits).
FAR_ULP, NEAR_ULP, FEW, FAR, LEAST_ULP = 1e4, 64.0, 0.25, 0.01, 4.0


@dataclass(frozen=True)
class CheckResult:
    """The result of a check: the number of differing elements, of compared ones, and the first mismatches in words."""

    mismatches: int
    compared: int
    reason: str = ""
    note: str = ""  # on a right answer
    exact: bool = False  # whether every element had to be the expected value itself
    error_ulp: float | None = None  # the largest error of a float, in units in the last place; `None` for integers
    undecided: int = 0  # elements that rounding errors may change by any amount
    added: tuple[str, ...] = ()  # wrong outputs that equal their previous content + expected: the kernel accumulated
    power: Mapping[str, Power] = field(default_factory=dict)  # of a right answer: the check's power, by output
    tied: str = ""  # on a wrong answer: that it may be another order of equal keys

    @property
    def ok(self) -> bool:
        """Whether no element differs."""
        return self.mismatches == 0


@dataclass(frozen=True)
class _Judged:
    """The verdict on each element of an output; masks have the shape (n,)."""

    wrong: Mask
    open: Mask | bool = False  # accepts any value
    error_ulp: float = 0.0  # the largest error


def poison_byte(dtype: DType) -> int:
    """The byte with which to poison an array of this type."""
    floats = {number.is_float for _, number in dtype.leaves()}
    return POISON_MIXED if len(floats) > 1 else POISON_FLOAT if True in floats else POISON


def check(
    actual: Mapping[str, Array],
    expected: Mapping[str, ExpectedArray],
    depth: int | None = None,
    tolerance: Tolerance | None = None,
) -> CheckResult:
    """Compare the actual outputs with the expected ones, element by element.

    Args:
        actual: The arrays after the launch, by name.
        expected: The outputs to compare, by name.
        depth: The longest chain of rounded operations in the kernel; `None` for the reference's own.
        tolerance: The allowed difference of floats, in place of their bounds.

    Raises:
        UsageError: An expected output has another shape than the actual one.
    """
    mismatches = compared = undecided = 0
    tolerable = exact = True  # whether a tolerance may accept the wrong elements; whether all elements must be equal
    listed: list[str] = []
    furthest: tuple[float, str] = (0.0, "")
    added: list[str] = []
    error: float | None = None
    for name, right in expected.items():
        got = actual[name].ravel()
        known, defined = elements(name, right, actual[name].shape, depth, tolerance)
        judged = _compare(got, known)
        wrong = judged.wrong & defined
        if right.judge is not None and wrong.any() and not is_float(got.dtype):
            wrong = right.judge(got, wrong)
        exact = exact and known.is_exact(got.dtype)
        compared += int(np.count_nonzero(defined))
        undecided += int(np.count_nonzero(judged.open & defined & ~wrong))
        if is_float(got.dtype):
            error = max(error or 0.0, judged.error_ulp)
        where = np.flatnonzero(wrong)
        mismatches += len(where)
        if len(where) == np.count_nonzero(defined) and _is_sum(got[where], known.values[where]):
            added.append(f"'{name}'")
        for i in where[: SHOWN - len(listed)]:
            allowed = "" if listed else _allowed(got[i : i + 1], known[i : i + 1])
            listed.append(f"{name}[{i}] is {_found(got[i : i + 1])}, expected {_show(known.values[i])}{allowed}")
        if len(where):
            tolerable &= tolerance is None and is_float(got.dtype) and _is_like_rounding(got, known, where, defined)
            furthest = max(furthest, _furthest(name, got, known.values, where)) if is_float(got.dtype) else furthest
    if not mismatches:
        note = (
            f"{undecided} elements could not be checked: rounding errors may change them by any amount"
            if undecided
            else ""
        )
        return CheckResult(0, compared, note=note, exact=exact, error_ulp=error, undecided=undecided)
    more = f", and {mismatches - len(listed)} more" if mismatches > len(listed) else ""
    reason = f"{mismatches} of {compared} elements differ: {'; '.join(listed)}{more}"
    if furthest[1]:
        reason += f"; the largest error is {furthest[0]:.3g} ulp, at {furthest[1]}"
    if tolerable:
        reason += "; set 'tolerance' in the YAML if the kernel is meant to be less exact"
    return CheckResult(mismatches, compared, reason, error_ulp=error, added=tuple(added))


def power(
    shapes: Mapping[str, tuple[tuple[int, ...], np.dtype[Any]]],
    expected: Mapping[str, ExpectedArray],
    depth: int | None = None,
    tolerance: Tolerance | None = None,
) -> dict[str, Power]:
    """The power of such a check, by output; `shapes` has each output's shape and type, the rest is as for `check`."""
    found = {}
    for name, right in expected.items():
        shape, dtype = shapes[name]
        found[name] = power_of(*elements(name, right, shape, depth, tolerance), dtype)
    return found


def _is_like_rounding(got: Array, known: Elements, where: NDArray[np.intp], defined: Mask) -> bool:
    """Whether rounding alone may explain the wrong elements, by `FAR_ULP` and the other limits; `where` has indices."""
    wide = wider(got.dtype)
    with np.errstate(over="ignore", invalid="ignore"):
        exact, found = known.values[where].astype(wide), got[where].astype(wide)
        if not np.all(np.isfinite(exact) & np.isfinite(found)):
            return False
        error = float((np.abs(found - exact) / ulp(exact, got.dtype)).max())
    few = len(where) <= np.count_nonzero(defined) * FEW
    return error <= min(FAR_ULP if few else NEAR_ULP, max(LEAST_ULP, FAR / Arithmetic(got.dtype).eps))


def _compare(got: Array, known: Elements) -> _Judged:
    """Judge all elements of an output in chunks; `got` has the shape (n,)."""
    wrong, free = (np.zeros(got.shape, np.bool_) for _ in range(2))

    def judge(at: slice) -> float:
        judged = _judge(got[at], known[at])
        wrong[at], free[at] = judged.wrong, judged.open
        return judged.error_ulp

    error = max(in_pieces(judge, len(got)), default=0.0)
    return _Judged(wrong, free, error)


def _judge(got: Array, known: Elements) -> _Judged:
    if not is_float(got.dtype):
        return _Judged(_wrong_integers(got, known))
    values = known.values
    how = Arithmetic(got.dtype)
    with np.errstate(over="ignore", invalid="ignore"):
        if got.dtype.itemsize == 1:  # conversions to 8 bits saturate
            values = np.clip(values, -how.largest, how.largest)
        rounded = values.astype(got.dtype, copy=False)
        free = known.open()
        if np.array_equal(got, rounded):
            return _Judged(np.zeros(got.shape, np.bool_), open=free)
        wide = np.promote_types(values.dtype, how.wide) if values.dtype.kind == "f" else how.wide
        exact, found = values.astype(wide), got.astype(wide)
        same = (found == exact) | (got == rounded) | (np.isnan(found) & np.isnan(exact))
        differs = np.isfinite(found) & np.isfinite(exact) & (found != exact)
        error = float((np.abs(found - exact)[differs] / ulp(exact[differs], got.dtype)).max(initial=0.0))
        low, high = interval(known, got.dtype, exact)
        if known.tolerance is not None:
            return _Judged(~(same | ((low <= found) & (found <= high))), error_ulp=error)
        wrong = ~(same | ((low <= found) & (found <= high)) | free)
        if wrong.any():  # a result in a wider type than the output's is rounded once more
            low, high = (np.clip(b, -how.largest, how.largest) if got.dtype.itemsize == 1 else b for b in (low, high))
            ends = (b.astype(got.dtype).astype(wide) for b in (low, high))
            wrong &= ~((next(ends) <= found) & (found <= next(ends)))
        return _Judged(wrong, free, error)


def _wrong_integers(got: Array, known: Elements) -> Mask:
    values = known.values
    if got.dtype == np.bool_:  # bytes other than 0 and 1 are wrong
        got, values = got.view(np.uint8), values.astype(np.bool_)
    # A wider integer result wraps to the array's own type, as it does on the GPU.
    wrong = np.asarray(got != values.astype(got.dtype))
    if known.error is not None:
        wrong &= np.abs(got.astype(np.float64) - values) > known.error
    if known.low is not None and known.high is not None:
        wrong &= ~((np.trunc(known.low) <= got) & (got <= np.trunc(known.high)))
    return wrong


def _allowed(got: Array, known: Elements) -> str:
    """The allowed difference of a wrong element, in words; empty for integers."""
    if not is_float(got.dtype):
        return ""
    if known.tolerance is not None:
        return f" (allowed {known.tolerance})"
    with np.errstate(over="ignore", invalid="ignore"):
        exact = known.values.astype(wider(got.dtype))
        low, high = interval(known, got.dtype, exact)
        limit = float(np.fmax(high - exact, exact - low)[0])
    if np.isnan(limit):
        return ""
    return f" (allowed {limit:.2g})" if limit else " (allowed 0: the result is exact)"


def _furthest(name: str, got: Array, values: Array, where: NDArray[np.intp]) -> tuple[float, str]:
    """The largest error among the wrong elements in ulp, and the name of that element."""
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
    """Whether every element equals poison + expected: the kernel accumulated into an uninitialized output."""
    if is_float(got.dtype):
        return bool(got.size and np.isnan(got).all() and np.isfinite(expected).all())
    if got.dtype.kind not in "iu" or got.dtype.itemsize < INT_BYTES:
        return False
    poison = np.frombuffer(bytes([POISON]) * got.dtype.itemsize, got.dtype)
    return bool(expected.any() and np.array_equal(got, expected.astype(got.dtype) + poison))


def _show(value: Any) -> str:
    return f"{value:.9g}" if isinstance(value, float | np.floating) else str(value)
