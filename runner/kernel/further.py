"""Further inputs for the check: small numbers whose sums and products are exact, so that a defect cannot hide.

A sum of a million random floats may be off by more than one of them, in the worst order of additions. A sum of a
million quarters has one value in every order. So a case whose floats were right within a bound is checked again with
such numbers. They lie within the range of the fill that they replace, so any kernel that takes the one takes the other.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from runner.device import Role
from runner.kernel.case import ArraySpec, Case
from runner.kernel.check import CheckResult
from runner.kernel.contents import Chosen, changed
from runner.kernel.precision import Arithmetic
from runner.kernel.recipes import Fill, Recipe, multiples
from runner.kernel.reference import Expected

# How many further inputs arrays of up to so many elements get. One wrong element shows with luck only, where it is
# multiplied by 0 or not chosen. Larger arrays get one: each takes the host as long as the check of the own inputs.
SEEDS = ((1 << 18, 4), (1 << 23, 2))
# The fill that replaces a float array's.
EXACT = {"random": "exact_signed", "c_rand": "exact_positive", "random_bytes": "exact_positive"}


def contents(case: Case, inputs: Mapping[str, NDArray[Any]], seed: int) -> dict[str, NDArray[Any]]:
    """The inputs with exact numbers in place of random floats; empty if there is nothing to replace.

    Arrays of other fills, such as indices, and those with `refill: false` keep their contents, unless these are made
    from arrays that do not.

    Args:
        case: The case.
        inputs: Its own inputs, by name.
        seed: Which of the further inputs.
    """
    columns = [c for a in case.arrays() for c in a.columns()]
    if not any(c.dtype.is_float and _replaceable(c) for c in columns):
        return {}
    return {**inputs, **changed(case, lambda a: _chosen(case, a, seed))}


def seeds(case: Case) -> range:
    """The further inputs of a case: more of small ones."""
    elements = sum(math.prod(a.shape) for a in case.arrays())
    return range(1, 1 + next((seeds for most, seeds in SEEDS if elements <= most), 1))


def wanted(case: Case, first: CheckResult) -> bool:
    """Whether further inputs may show what the own ones did not: where floats had a bound, or elements are chosen.

    A function may choose elements, too.
    """
    reference = case.kernel.reference
    return not first.exact or isinstance(reference, str) or any(e.selects for _, e in reference)


def _replaceable(a: ArraySpec) -> bool:
    if not a.refill or a.role not in (Role.IN, Role.INOUT):
        return False
    if isinstance(a.fill, Recipe):
        return bool(_exact(a)) if a.dtype.is_float else a.fill.seeded
    return a.fill in EXACT if a.dtype.is_float else a.fill == "random"


def _chosen(case: Case, a: ArraySpec, seed: int) -> Chosen:
    """The fill of an array, or of a member of its structure, and its seed."""
    if not _replaceable(a):
        return a.fill, case.seed  # type: ignore[return-value]
    return (_exact(a) if a.dtype.is_float else a.fill), case.seed + (seed << 32)  # type: ignore[return-value]


def _exact(a: ArraySpec) -> Fill:
    """The fill of exact numbers within the range of a float array's own; empty if there is none."""
    kind = a.fill if isinstance(a.fill, str) else ""
    levels = _levels(math.prod(a.shape) * a.dtype.numbers, Arithmetic(a.dtype.numpy).digits)
    if isinstance(a.fill, Recipe) and a.fill.kind in ("normal", "range"):
        first, end = (float(n) for n in a.fill.numbers or ((0, 1) if a.fill.kind == "normal" else (-1, 1)))  # type: ignore[arg-type]
        if a.fill.kind == "normal":
            first, end = first - end, first + end
        if not (first <= -1 and end > 1) and not (first <= 1 and end > 3):
            return multiples(a.fill, first, end, levels)
        kind = "random" if first <= -1 else "c_rand"
    if kind not in EXACT:
        return ""
    return f"{EXACT[kind]}_{levels if EXACT[kind] == 'exact_signed' else min(levels, 3)}"


def _levels(count: int, digits: float) -> int:
    """How many magnitudes the numbers have: 4 (quarters), 2 or 1. Few in long arrays: sums of squares stay exact."""
    return next((n for n in (4, 2) if count * 0.7 * n * n <= digits), 1)


def usable(expected: Expected) -> bool:
    """Whether the reference is defined for these inputs."""
    return all(np.isfinite(np.asarray(e.values, np.float64)).all() for e in expected.outputs.values())
