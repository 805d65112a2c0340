"""The contents of a case's arrays before a launch: its own, a second set, and those chosen by the check.

An array whose fill is made from other arrays changes with them.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from graphlib import CycleError, TopologicalSorter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from runner.errors import UsageError
from runner.kernel.arrays import cached, with_parts
from runner.kernel.case import READ, ArraySpec, Case
from runner.kernel.recipes import Fill, Recipe, make

Contents = Mapping[str, NDArray[Any]]
SeededFill = tuple[Fill, int]  # a fill and its seed
Choice = Callable[[ArraySpec], SeededFill]  # the fill of an array, or of a member of its structure

SECOND_FILLS = {"random": "random", "c_rand": "random_bytes", "random_bytes": "random_bytes"}
"""For the second trial, by the fill of the first one."""
MAX_SECOND_BYTES = 256 << 20  # of an array, up to which a second trial is worth the host's time


def contents(case: Case, choice: Choice | None = None, *, keep: bool = True) -> dict[str, NDArray[Any]]:
    """The contents of all arrays before the first launch, by name, each of the shape `DType.host_shape(a.shape)`.

    The fills and seeds are the case's own, or those of a `choice`, whose contents are cached if to `keep`. Raises
    UsageError if a fill cannot be made, or is made from itself.
    """
    choose = choice or own_fills(case)
    keys = _keys(case, choose)
    own = keys if keep else _keys(case, own_fills(case))
    specs = {a.name: a for a in case.arrays()}
    types = {name: spec.dtype for name, spec in specs.items()}
    found: dict[str, NDArray[Any]] = {}
    for name, key in keys.items():  # each behind those that it needs
        spec = specs[name]
        if not key:
            found[name] = np.zeros(spec.dtype.host_shape(spec.shape), spec.dtype.numpy)
            continue
        make_it = functools.partial(_make_contents, spec, choose, with_parts(found, types))
        found[name] = cached(key, make_it) if key == own[name] else make_it()
    return {name: found[name] for name in specs}


def second_contents(case: Case) -> dict[str, NDArray[Any]]:
    """Contents for a second trial, of the arrays that allow other contents and of those made from them."""
    specs = {a.name: a for a in case.arrays()}
    held: set[str] = set()  # `__constant__` arrays and all arrays from which they are made
    names = [name for name, spec in specs.items() if spec.constant]
    while names:
        held.add(name := names.pop())
        names += _needs(specs[name]) - held
    own = own_fills(case)

    def choose(column: ArraySpec) -> SeededFill:
        spec = specs[column.name.partition(".")[0]]
        if spec.name in held or not spec.refill or spec.nbytes > MAX_SECOND_BYTES or spec.role not in READ:
            return own(column)
        if isinstance(column.fill, Recipe) and column.fill.seeded:
            return column.fill, case.seed + 1
        return (SECOND_FILLS[column.fill], case.seed + 1) if column.fill in SECOND_FILLS else own(column)

    return changed_contents(case, choose)


def changed_contents(case: Case, choice: Choice, *, keep: bool = True) -> dict[str, NDArray[Any]]:
    """Only the contents that differ from the case's own; the arguments are those of `contents`."""
    before, after = _keys(case, own_fills(case)), _keys(case, choice)
    different = {name for name in after if after[name] != before[name]}
    return {n: a for n, a in contents(case, choice, keep=keep).items() if n in different} if different else {}


def own_fills(case: Case) -> Choice:
    """The case's own fills and seed."""
    return lambda column: (column.fill, case.seed)  # type: ignore[return-value]


def _needs(spec: ArraySpec) -> set[str]:
    fills = [column.fill for column in spec.leaf_arrays()]
    return {n.partition(".")[0] for f in fills if isinstance(f, Recipe) for n in f.needed_arrays}


def _keys(case: Case, choice: Choice) -> dict[str, tuple[Any, ...]]:
    """The cache key of each content, in an order in which they can be made; empty for zeros."""
    specs = {a.name: a for a in case.arrays()}
    needs = {name: sorted(_needs(spec)) for name, spec in specs.items()}
    try:
        order = [*TopologicalSorter(needs).static_order()]
    except CycleError as e:
        names = e.args[1][::-1]
        where = f"{case.kernel.yaml.name}: argument '{names[0]}': fill"
        raise UsageError(f"{where}: it depends on itself: {' -> '.join(names)}") from None
    keys: dict[str, tuple[Any, ...]] = {}
    for name in order:
        fills = tuple((*choice(c), c.shape, c.dtype, c.name) for c in specs[name].leaf_arrays())
        keys[name] = (fills, tuple(keys[n] for n in needs[name])) if specs[name].role in READ else ()
    return keys


def _make_contents(spec: ArraySpec, choice: Choice, arrays: Contents) -> NDArray[Any]:
    if not spec.dtype.fields:
        chosen, seed = choice(spec)
        return make(chosen, spec.shape, spec.dtype, seed, spec.name, arrays)
    whole = np.zeros(spec.shape, spec.dtype.numpy)
    for member, column in spec.members():
        whole[member] = _make_contents(column, choice, arrays)
    return whole
