"""Decide whether a right verdict is evidence: which wrong results its checks would have accepted, and what to do."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from runner.bounds.power import LEFT_OUT, Power
from runner.device import Role
from runner.kernel.case import Case
from runner.kernel.check import check
from runner.kernel.reference import Expected, expect
from runner.sweep.trial import Trial

MAX_SECONDS = 0.05  # most time for computing altered references ...
MAX_ELEMENTS = 1 << 18  # ... or most elements of all arrays, if that time is unknown
MAX_SAMPLED = 1 << 12  # elements of an input among which the median one is chosen
MAX_CACHED = 64  # cached results
_cache: dict[Any, tuple[Any, list[str]]] = {}  # results by the ids of outputs, which are kept alive with them


def why_unproven(case: Case, powers: Mapping[str, Power]) -> str:
    """Why a right verdict is no evidence, and what to do; empty if it is.

    Args:
        case: The case.
        powers: The power of the check of each output, by name.
    """
    for name, power in powers.items():
        if not power.compared:
            hint = "; leave an array out of the reference if its content does not matter" if len(powers) > 1 else ""
            return f"no element of '{name}' is compared: its reference leaves all of them undefined{hint}"
        if not power.finite:
            return (
                f"not shown to be correct: no element of '{name}' is expected to be finite, and many wrong kernels "
                "give NaN and infinity, too; fill the inputs with finite values, at least in part"
            )
        if power.is_weak:
            error = f"errors of {power.allowed:.0%}" if math.isfinite(power.allowed) else "any error"
            also = f" ({', '.join(sorted(power.passing))})" if power.passing else ""
            return (
                f"not shown to be correct: the check of '{name}' accepts {error} of a typical element{also}; "
                f"{_advice(case)}"
            )
    return ""


def _advice(case: Case) -> str:
    """How to make the check of a case narrower."""
    kernel = case.kernel
    if kernel.tolerance is not None:
        return f"the YAML's 'tolerance' ({kernel.tolerance}) is too large for these values"
    if isinstance(kernel.reference, str):
        return "return a smaller 'error' in the reference's ExpectedArray"
    if kernel.compute in ("float16", "bfloat16"):
        return "write 'compute: float32' if the kernel adds in float32, or choose a smaller size"
    return (
        "choose a smaller size, or inputs whose terms do not cancel (such as fill: {range: [0.5, 1]}); or describe how "
        "the kernel adds ('depth') or in which type ('compute'); or write the reference with the same operations as "
        "the kernel"
    )


def undetected(trial: Trial, powers: Mapping[str, Power], *, fast: bool) -> list[str]:
    """The wrong results that all checks of a case would have accepted, in words.

    Args:
        trial: The trial that was launched.
        powers: The power of the check of each output, by name.
        fast: Whether the kernel was compiled with `-use_fast_math`.
    """
    found = {words for power in powers.values() for words in power.passing}
    inexact = any(power.allowed > 0 for power in powers.values())
    return [*sorted(found), *(_ignorable_inputs(trial, fast=fast) if inexact else ())]


def _ignorable_inputs(trial: Trial, *, fast: bool) -> list[str]:
    """`_find_ignorable_inputs`, cached for cases that share their expected outputs."""
    outputs, case = trial.expected.outputs, trial.case
    key = (id(outputs), case.kernel.tolerance, case.count("depth"))
    if key not in _cache:
        if len(_cache) >= MAX_CACHED:
            _cache.clear()
        _cache[key] = outputs, list(_find_ignorable_inputs(trial, fast=fast))
    return _cache[key][1]


def _find_ignorable_inputs(trial: Trial, *, fast: bool) -> Iterator[str]:
    """The inputs of which a typical element could be ignored without a mismatch. Empty if the reference is slow."""
    case, expected = trial.case, trial.expected
    kernel = case.kernel
    read = [a for a in case.arrays() if a.role in (Role.IN, Role.INOUT) and a.dtype.is_float and a.dtype.is_whole]
    if kernel.no_output or not _is_quick(case, expected, len(read)):
        return
    for spec in read:
        given = trial.inputs[spec.name]
        typical = _typical(given.reshape(-1))
        if typical is None:
            continue
        changed = given.copy()
        changed.reshape(-1)[typical] = 0
        outputs = expect(case, {**trial.inputs, spec.name: changed}, fast=fast).outputs
        same = all(np.array_equal(outputs[n].values, e.values, equal_nan=True) for n, e in expected.outputs.items())
        wrong = {n: trial.stored(n, e.values) for n, e in outputs.items()}
        if not same and check(wrong, expected.outputs, case.count("depth"), kernel.tolerance).ok:
            yield LEFT_OUT.format(spec.name)


def _is_quick(case: Case, expected: Expected, times: int) -> bool:
    """Whether the reference is fast enough to be computed `times` more times."""
    if expected.seconds is not None:
        return expected.seconds * max(times, 1) <= MAX_SECONDS
    return sum(math.prod(a.shape) for a in case.arrays()) <= MAX_ELEMENTS


def _typical(given: NDArray[Any]) -> int | None:
    """The index of an element of median magnitude; `None` if at most one is not zero. `given` has shape (n,)."""
    at = np.linspace(0, len(given) - 1, min(len(given), MAX_SAMPLED)).astype(np.intp)
    magnitudes = np.abs(given[at].astype(np.float64))
    present = np.flatnonzero(np.isfinite(magnitudes) & (magnitudes > 0))
    if len(present) < 2:
        return None
    return int(at[present[np.argsort(magnitudes[present])[len(present) // 2]]])
