"""What a case's arrays hold before a launch: its own contents, a second set, and exact ones (`exact_contents`).

An array whose fill names other arrays follows them: where they have other contents, so has it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from runner.device import Role
from runner.errors import UsageError
from runner.kernel.arrays import cached, with_parts
from runner.kernel.case import ArraySpec, Case
from runner.kernel.check import CheckResult
from runner.kernel.precision import Arithmetic
from runner.kernel.recipes import Fill, Recipe, make, multiples
from runner.kernel.reference import Expected

Contents = Mapping[str, NDArray[Any]]
Chosen = tuple[Fill, int]  # a fill and its seed
Choice = Callable[[ArraySpec], Chosen]  # what fills an array, or a member of its structure

SEEDED = {
    "random": "random",
    "c_rand": "random_bytes",
    "random_bytes": "random_bytes",
}  # fills, and the one for the second trial
MOST_INPUTS = 256 << 20  # bytes of inputs for a second trial: its reference and its inputs take the host's time
READ = (Role.IN, Role.INOUT)


def contents(case: Case, choice: Choice | None = None) -> dict[str, NDArray[Any]]:
    """The arrays' contents before the first launch, by name.

    A `UsageError` if a fill cannot be made, or is made from itself.
    """
    found: dict[str, NDArray[Any]] = {}
    keys = _keys(case, choice or _own(case))
    for name, key in keys.items():  # each behind those that it needs
        spec = _spec(case, name)
        found[name] = np.zeros(spec.dtype.host_shape(spec.shape), spec.dtype.numpy)
        if key:
            known = with_parts(found, {a.name: a.dtype for a in case.arrays()})
            found[name] = cached(key, lambda s=spec, k=known: _made(s, choice or _own(case), k))  # type: ignore[misc]
    return {a.name: found[a.name] for a in case.arrays()}


def second(case: Case) -> dict[str, NDArray[Any]]:
    """Other contents of the arrays that can have some, and of those made from them; empty if there are none."""
    held = _needed(case, [a.name for a in case.arrays() if a.constant])
    own = _own(case)

    def choose(spec: ArraySpec) -> Chosen:
        whole = _spec(case, spec.name.partition(".")[0])
        if whole.name in held or not whole.refill or whole.nbytes > MOST_INPUTS or whole.role not in READ:
            return own(spec)
        if isinstance(spec.fill, Recipe) and spec.fill.seeded:
            return spec.fill, case.seed + 1
        return (SEEDED[spec.fill], case.seed + 1) if spec.fill in SEEDED else own(spec)

    return changed(case, choose)


def changed(case: Case, choice: Choice) -> dict[str, NDArray[Any]]:
    """The contents that differ from the case's own."""
    before, after = _keys(case, _own(case)), _keys(case, choice)
    different = {name for name in after if after[name] != before[name]}
    return {n: a for n, a in contents(case, choice).items() if n in different} if different else {}


def _own(case: Case) -> Choice:
    return lambda spec: (spec.fill, case.seed)  # type: ignore[return-value]


def _spec(case: Case, name: str) -> ArraySpec:
    return next(a for a in case.arrays() if a.name == name)


def _needs(spec: ArraySpec) -> set[str]:
    fills = [column.fill for column in spec.columns()]
    return {n.partition(".")[0] for f in fills if isinstance(f, Recipe) for n in f.needs}


def _needed(case: Case, names: list[str]) -> set[str]:
    """These arrays, and all that they are made from."""
    found: set[str] = set()
    while names:
        found.add(name := names.pop())
        names += _needs(_spec(case, name)) - found
    return found


def _keys(case: Case, choice: Choice) -> dict[str, tuple[Any, ...]]:
    """What each content follows from, in an order in which they can be made; empty for zeros."""
    keys: dict[str, tuple[Any, ...]] = {}

    def add(name: str, within: tuple[str, ...]) -> None:
        spec = _spec(case, name)
        if name in within:
            raise UsageError(f"{case.kernel.yaml.name}: argument '{name}': fill: it depends on itself")
        needs = sorted(_needs(spec))
        for other in needs:
            if other not in keys:
                add(other, (*within, name))
        made = tuple((*choice(c), c.shape, c.dtype, c.name) for c in spec.columns())
        keys[name] = (made, tuple(keys[n] for n in needs)) if spec.role in READ else ()

    for a in case.arrays():
        if a.name not in keys:
            add(a.name, ())
    return keys


def _made(spec: ArraySpec, choice: Choice, arrays: Contents) -> NDArray[Any]:
    if not spec.dtype.fields:
        chosen, seed = choice(spec)
        return make(chosen, spec.shape, spec.dtype, seed, spec.name, arrays)
    whole = np.zeros(spec.shape, spec.dtype.numpy)
    for member, column in spec.members():
        whole[member] = _made(column, choice, arrays)
    return whole


# Exact inputs, for the check: small numbers whose sums and products are exact, so that a defect cannot hide. A sum of
# a million random floats may be off by more than one of them, in the worst order of additions. A sum of a million
# quarters has one value in every order. So a case whose floats were right within a bound is checked again with such
# numbers. They lie within the range of the fill that they replace, so any kernel that takes the one takes the other.

# How many further inputs arrays of up to so many elements get. One wrong element shows with luck only, where it is
# multiplied by 0 or not chosen. Larger arrays get one: each takes the host as long as the check of the own inputs.
SEEDS = ((1 << 18, 4), (1 << 23, 2))
# The fill that replaces a float array's.
EXACT = {"random": "exact_signed", "c_rand": "exact_positive", "random_bytes": "exact_positive"}


def exact_contents(case: Case, inputs: Mapping[str, NDArray[Any]], seed: int) -> dict[str, NDArray[Any]]:
    """The inputs with exact numbers in place of random floats, by one of `exact_seeds`; empty if nothing is replaced.

    Arrays of other fills, such as indices, and those with `refill: false` keep their contents, unless these are made
    from arrays that do not.
    """
    columns = [c for a in case.arrays() for c in a.columns()]
    if not any(c.dtype.is_float and _replaceable(c) for c in columns):
        return {}
    return {**inputs, **changed(case, lambda a: _chosen(case, a, seed))}


def exact_seeds(case: Case) -> range:
    """The further inputs of a case: more of small ones."""
    elements = sum(math.prod(a.shape) for a in case.arrays())
    return range(1, 1 + next((seeds for most, seeds in SEEDS if elements <= most), 1))


def exact_wanted(case: Case, first: CheckResult) -> bool:
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
    count, digits = math.prod(a.shape) * a.dtype.numbers, Arithmetic(a.dtype.numpy).digits
    # Magnitudes of the numbers: 4 (quarters), 2 or 1. Few in long arrays: sums of squares stay exact.
    levels = next((n for n in (4, 2) if count * 0.7 * n * n <= digits), 1)
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


def usable(expected: Expected) -> bool:
    """Whether the reference is defined for these inputs."""
    return all(np.isfinite(np.asarray(e.values, np.float64)).all() for e in expected.outputs.values())
