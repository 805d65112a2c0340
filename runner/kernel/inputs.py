"""The contents of a case's arrays before a launch: its own, a second set, and those chosen by the check.

An array whose fill is made from other arrays changes with them.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from runner.errors import UsageError
from runner.kernel.arrays import cached, with_parts
from runner.kernel.case import READ, ArraySpec, Case
from runner.kernel.recipes import Fill, Recipe, make

Contents = Mapping[str, NDArray[Any]]
Chosen = tuple[Fill, int]  # a fill and its seed
Choice = Callable[[ArraySpec], Chosen]  # the fill of an array, or of a member of its structure

SEEDED = {
    "random": "random",
    "c_rand": "random_bytes",
    "random_bytes": "random_bytes",
}  # fills, and the one for the second trial
MOST_INPUTS = 256 << 20  # bytes of inputs up to which a second trial is worth the host's time


def contents(case: Case, choice: Choice | None = None, *, keep: bool = True) -> dict[str, NDArray[Any]]:
    """The contents of all arrays before the first launch, by name, each of the shape `DType.host_shape(a.shape)`.

    Args:
        case: The case.
        choice: The fills and seeds; by default the case's own.
        keep: Whether to cache the contents of a `choice`; the case's own are always cached.

    Raises:
        UsageError: A fill cannot be made, or is made from itself.
    """
    found: dict[str, NDArray[Any]] = {}
    keys = _keys(case, choice or _own(case))
    own = keys if keep else _keys(case, _own(case))
    for name, key in keys.items():  # each behind those that it needs
        spec = _spec(case, name)
        found[name] = np.zeros(spec.dtype.host_shape(spec.shape), spec.dtype.numpy)
        if key:
            known = with_parts(found, {a.name: a.dtype for a in case.arrays()})
            make_it = functools.partial(_made, spec, choice or _own(case), known)
            found[name] = cached(key, make_it) if key == own[name] else make_it()
    return {a.name: found[a.name] for a in case.arrays()}


def second(case: Case) -> dict[str, NDArray[Any]]:
    """Contents for a second trial, of the arrays that allow other contents and of those made from them."""
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


def changed(case: Case, choice: Choice, *, keep: bool = True) -> dict[str, NDArray[Any]]:
    """Only the contents that differ from the case's own; the arguments are those of `contents`."""
    before, after = _keys(case, _own(case)), _keys(case, choice)
    different = {name for name in after if after[name] != before[name]}
    return {n: a for n, a in contents(case, choice, keep=keep).items() if n in different} if different else {}


def _own(case: Case) -> Choice:
    return lambda spec: (spec.fill, case.seed)  # type: ignore[return-value]


def _spec(case: Case, name: str) -> ArraySpec:
    return next(a for a in case.arrays() if a.name == name)


def _needs(spec: ArraySpec) -> set[str]:
    fills = [column.fill for column in spec.columns()]
    return {n.partition(".")[0] for f in fills if isinstance(f, Recipe) for n in f.needs}


def _needed(case: Case, names: list[str]) -> set[str]:
    """These arrays and all arrays from which they are made."""
    found: set[str] = set()
    while names:
        found.add(name := names.pop())
        names += _needs(_spec(case, name)) - found
    return found


def _keys(case: Case, choice: Choice) -> dict[str, tuple[Any, ...]]:
    """The cache key of each content, in an order in which they can be made; empty for zeros."""
    keys: dict[str, tuple[Any, ...]] = {}

    def add(name: str, within: tuple[str, ...]) -> None:
        spec = _spec(case, name)
        if name in within:
            circle = " -> ".join([*within, name])
            raise UsageError(f"{case.kernel.yaml.name}: argument '{name}': fill: it depends on itself: {circle}")
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
