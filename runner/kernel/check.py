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
MAX_LISTED = 5  # mismatches listed one by one
FEW_COMPARED = 0.1  # of the elements of an output: fewer are told
# Errors that rounding may explain: up to 10^4 ulp in a quarter of the elements, or 64 ulp in all of them, and at most
# 1 % (4 ulp in types with fewer digits).
FAR_ULP, NEAR_ULP, FEW, FAR, MIN_ULP = 1e4, 64.0, 0.25, 0.01, 4.0


@dataclass(frozen=True)
class CheckResult:
    """The result of a check: the number of differing elements, of compared ones, and the first mismatches in words."""

    mismatches: int
    compared: int
    reason: str = ""
    note: str = ""  # on a correct answer
    exact: bool = False  # whether every element had to be the expected value itself
    error_ulp: float | None = None  # the largest error of a float, in units in the last place; `None` for integers
    undecided: int = 0  # elements that rounding errors may change by any amount
    added: tuple[str, ...] = ()  # wrong outputs that equal their previous content + expected: the kernel accumulated
    power: Mapping[str, Power] = field(default_factory=dict)  # of a correct answer: the check's power, by output
    tied: str = ""  # on a wrong answer: that it may be another order of equal keys

    @property
    def ok(self) -> bool:
        """Whether no element differs."""
        return self.mismatches == 0


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
    counts: dict[str, tuple[int, int]] = {}  # the elements compared and those there are, by output
    error: float | None = None
    for name, output in expected.items():
        got = actual[name].ravel()
        known, defined = elements(name, output, actual[name].shape, depth, tolerance)
        wrong, undecidable, largest = _judge(got, known)
        wrong &= defined
        if output.judge is not None and wrong.any() and not is_float(got.dtype):
            wrong = output.judge(got, wrong)
        exact = exact and known.is_exact(got.dtype)
        count = int(np.count_nonzero(defined))
        compared += count
        counts[name] = (count, got.size)
        undecided += int(np.count_nonzero(undecidable & defined & ~wrong))
        if is_float(got.dtype):
            error = max(error or 0.0, largest)
        where = np.flatnonzero(wrong)
        mismatches += len(where)
        if len(where) == count and _is_sum(got[where], known.values[where]):
            added.append(f"'{name}'")
        for i in where[: MAX_LISTED - len(listed)]:
            allowed = "" if listed else _allowed(got[i : i + 1], known[i : i + 1])
            listed.append(f"{name}[{i}] is {_element_text(got[i : i + 1])}, expected {_show(known.values[i])}{allowed}")
        if len(where):
            is_rounding, largest, worst = _rounding(got[where], known.values[where], len(where) / count)
            tolerable &= tolerance is None and is_rounding
            furthest = max(furthest, (largest, f"{name}[{where[worst]}]"))
    if not mismatches:
        note = _note(undecided, counts)
        return CheckResult(0, compared, note=note, exact=exact, error_ulp=error, undecided=undecided)
    more = f", and {mismatches - len(listed)} more" if mismatches > len(listed) else ""
    reason = f"{mismatches} of {compared} elements differ: {'; '.join(listed)}{more}"
    if furthest[0]:
        reason += f"; the largest error is {furthest[0]:.3g} ulp, at {furthest[1]}"
    if tolerable:
        reason += "; set 'tolerance' in the YAML if the kernel is meant to be less exact"
    return CheckResult(mismatches, compared, reason, error_ulp=error, added=tuple(added))


def _note(undecided: int, counts: Mapping[str, tuple[int, int]]) -> str:
    """What a correct answer leaves open: elements that accept any value, and outputs of which few are compared."""
    notes = [f"{undecided} elements could not be checked: rounding errors may change them by any amount"]
    few = [(name, count, size) for name, (count, size) in counts.items() if 0 < count < FEW_COMPARED * size]
    notes = notes * (undecided > 0) + [
        f"only {count:,} of the {size:,} elements of '{name}' are compared; the reference leaves the others undefined"
        for name, count, size in few
    ]
    return "; ".join(notes)


def power(
    shapes: Mapping[str, tuple[tuple[int, ...], np.dtype[Any]]],
    expected: Mapping[str, ExpectedArray],
    depth: int | None = None,
    tolerance: Tolerance | None = None,
) -> dict[str, Power]:
    """The power of such a check, by output; `shapes` has each output's shape and type, the rest is as for `check`."""
    return {
        name: power_of(*elements(name, output, shapes[name][0], depth, tolerance), shapes[name][1])
        for name, output in expected.items()
    }


def _rounding(got: Array, values: Array, share: float) -> tuple[bool, float, int]:
    """Whether rounding alone may explain wrong elements, a share of all; the largest error in ulp, and its index."""
    if not is_float(got.dtype):
        return False, 0.0, 0
    wide = wider(got.dtype)
    with np.errstate(over="ignore", invalid="ignore"):
        exact, found = values.astype(wide), got.astype(wide)
        errors = np.abs(found - exact) / ulp(exact, got.dtype)
    errors = np.where(np.isfinite(errors), errors, 0)
    worst = int(np.argmax(errors))
    most = min(FAR_ULP if share <= FEW else NEAR_ULP, max(MIN_ULP, FAR / Arithmetic(got.dtype).eps))
    is_likely = bool(np.all(np.isfinite(exact) & np.isfinite(found)) and errors[worst] <= most)
    return is_likely, float(errors[worst]), worst


def _judge(got: Array, known: Elements) -> tuple[Mask, Mask, float]:
    """Which elements are wrong and which accept any value, both of shape (n,), and the largest error in ulp."""
    wrong, undecidable = (np.zeros(got.shape, np.bool_) for _ in range(2))

    def judge(chunk: slice) -> float:
        function = _judge_floats if is_float(got.dtype) else _judge_integers
        wrong[chunk], undecidable[chunk], error = function(got[chunk], known[chunk])
        return error

    error = max(in_pieces(judge, len(got)), default=0.0)
    return wrong, undecidable, error


def _judge_floats(got: Array, known: Elements) -> tuple[Mask, Mask | bool, float]:
    values = known.values
    fp = Arithmetic(got.dtype)
    with np.errstate(over="ignore", invalid="ignore"):
        if got.dtype.itemsize == 1:  # conversions to 8 bits saturate
            values = np.clip(values, -fp.largest, fp.largest)
        rounded = values.astype(got.dtype, copy=False)
        free = known.open()
        if np.array_equal(got, rounded):
            return np.zeros(got.shape, np.bool_), free, 0.0
        wide = np.promote_types(values.dtype, fp.wide) if values.dtype.kind == "f" else fp.wide
        exact, found = values.astype(wide), got.astype(wide)
        same = (found == exact) | (got == rounded) | (np.isnan(found) & np.isnan(exact))
        differs = np.isfinite(found) & np.isfinite(exact) & (found != exact)
        error = float((np.abs(found - exact)[differs] / ulp(exact[differs], got.dtype)).max(initial=0.0))
        low, high = interval(known, got.dtype, exact)
        wrong = ~(same | ((low <= found) & (found <= high)))
        if known.tolerance is not None:
            return wrong, False, error
        wrong &= ~free
        if wrong.any():  # a result in a wider type than the output's is rounded once more
            low, high = (np.clip(b, -fp.largest, fp.largest) if got.dtype.itemsize == 1 else b for b in (low, high))
            ends = (b.astype(got.dtype).astype(wide) for b in (low, high))
            wrong &= ~((next(ends) <= found) & (found <= next(ends)))
        return wrong, free, error


def _judge_integers(got: Array, known: Elements) -> tuple[Mask, Mask | bool, float]:
    values = known.values
    if got.dtype == np.bool_:  # bytes other than 0 and 1 are wrong
        got, values = got.view(np.uint8), values.astype(np.bool_)
    # A wider integer result wraps to the array's own type, as it does on the GPU.
    wrong = np.asarray(got != values.astype(got.dtype))
    if known.error is not None and np.any(known.error):
        wrong &= _distance(got, values) > known.error
    if known.low is not None and known.high is not None:
        low, high = (_truncated(end, got.dtype) for end in (known.low, known.high))
        wrong &= ~((low <= got) & (got <= high)) | np.isnan(known.low) | np.isnan(known.high)
    return wrong, False, 0.0


def _distance(got: Array, values: Array) -> Array:
    """The distances of integers from the expected values. Those of 64 bits are not converted before: float64 has 53."""
    if values.dtype.kind == "f" or got.dtype.kind == "b":
        return np.abs(got.astype(np.float64) - values)
    difference = got.astype(np.uint64) - values.astype(np.uint64)  # modulo 2**64, so signs do not matter
    return np.where(got > values, difference, -difference).astype(np.float64)


def _truncated(end: Array, dtype: np.dtype[Any]) -> Array:
    """Bounds as integers: towards zero, and within the range of the type, as CUDA converts floats."""
    if end.dtype.kind != "f":
        return end
    limits = np.iinfo(dtype)
    whole, beyond = np.trunc(end), 2.0 ** (limits.bits - (limits.min < 0))
    inside = (whole >= limits.min) & (whole < beyond)
    least, most = (np.asarray(limit, dtype) for limit in (limits.min, limits.max))
    return np.where(inside, np.where(inside, whole, 0).astype(dtype), np.where(whole < 0, least, most))


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


def _element_text(one: Array) -> str:
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
