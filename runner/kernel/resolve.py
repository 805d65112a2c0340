"""Makes a case from the requested values, with the reason if it cannot run."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from typing import Any

import ml_dtypes

from runner.device import Dim3
from runner.errors import UsageError
from runner.kernel.access import bytes_of, element
from runner.kernel.arrays import COUNTING, FILLS
from runner.kernel.case import ArraySpec, Case, ScalarSpec, known_values
from runner.kernel.declaration import VOCABULARY, Canonical, Kernel, Kind, canonical, pair, written

# What CUDA allows any launch (CUDA C++ Programming Guide, table "Technical Specifications per Compute Capability").
MAX_THREADS = 1024
MAX_GRID = (2**31 - 1, 65535, 65535)
LARGEST_ARRAY = 2**48  # bytes: beyond any machine, and NumPy's own limits are not far


def make(kernel: Kernel, requested: Mapping[str, Any], seed: int) -> Case:
    """Make a case from requested values.

    Args:
        kernel: The kernel; values of parameters that it does not read are ignored.
        requested: Values as written; `None` for the kernel's default.
        seed: The seed of random inputs.

    Raises:
        UsageError: if a value cannot be read. A value that can be read but not used makes an excluded case.
    """
    order = {name: i for i, name in enumerate(VOCABULARY)}
    values: dict[str, Canonical] = {}
    for p in sorted(kernel.parameters, key=lambda p: order.get(p.name, len(order))):
        given = requested.get(p.name)
        values[p.name] = p.default if given is None else canonical(p.name, p.kind, given)
        if p.name == "fill" and values[p.name] not in FILLS:
            raise UsageError(f"fill={values[p.name]}: expected one of {', '.join(FILLS)}")
    known = known_values(kernel, values)
    block = next(((*pair(values[p.name]), 1) for p in kernel.parameters if p.kind is Kind.BLOCK), (1, 1, 1))
    excluded = _excluded(kernel, values, known, block[0] * block[1])
    grid, shared = (0, 0, 0), 0
    if not excluded:
        x, y, z = (*(int(e(known)) for e in kernel.grid), 1, 1)[:3]
        grid, shared = (x, y, z), int(kernel.shared(known))
        excluded = _beyond_limits(grid)
    case = Case(kernel, tuple(values.items()), seed, excluded, grid, block, shared)
    return case if excluded else dataclasses.replace(case, excluded=_impossible(case))


def _excluded(kernel: Kernel, values: Mapping[str, Canonical], known: Mapping[str, int | str], threads: int) -> str:
    """Why the values do not go together: the first reason found."""
    for p in kernel.parameters:
        if p.allowed and values[p.name] not in p.allowed:
            allowed = ", ".join(written(p.kind, a) for a in p.allowed)
            return f"{p.name}={written(p.kind, values[p.name])} is not a value of {kernel.name}; allowed: {allowed}"
        if p.kind is Kind.SIZE and known[p.name] == 0:
            return f"{p.name}=0: there is nothing to do"
    if not 1 <= threads <= MAX_THREADS:
        return f"a block of {threads} threads is not within CUDA's 1 to {MAX_THREADS}"
    for c in kernel.constraints:
        if not c.require(known):
            names = sorted(c.require.names & known.keys())
            named = ", ".join(f"{n}={f'{known[n]:#010x}' if n == 'mask' else known[n]}" for n in names)
            return f"{c.reason} ({c.require.full} does not hold for {named})"
    return ""


def _beyond_limits(grid: Dim3) -> str:
    for axis, blocks, limit in zip("xyz", grid, MAX_GRID, strict=True):
        if not 1 <= blocks <= limit:
            return f"a grid of {blocks} blocks in {axis} is not within CUDA's 1 to {limit}"
    return ""


def _impossible(case: Case) -> str:
    """Why the launch is impossible although its parameters are allowed; empty if it is possible.

    Evaluates every expression of the kernel, so that a mistake in one is reported before anything runs.
    """
    for what in ("bytes_read", "bytes_written", "operations", "in_flight", "depth"):
        if (case.count(what) or 0) < 0:
            return f"{what} would be {case.count(what)}; expected 0 or more"
    if case.shared < 0:
        return f"the dynamic shared memory would be {case.shared} bytes"
    for a in case.arrays():
        if min(a.shape) < 0 or a.offset < 0 or (math.prod(a.shape) + a.offset) * a.dtype.itemsize > LARGEST_ARRAY:
            return f"the array '{a.name}' would have the shape {a.shape} at offset {a.offset}"
        if not 0 <= a.lead <= math.prod(a.shape):
            return f"the array '{a.name}' of {math.prod(a.shape)} elements cannot have {a.lead} before its pointer"
        if reason := _overfull(a):
            return reason
    for s in case.arguments():
        if isinstance(s, ScalarSpec) and (s.dtype.numbers > 1 or not s.dtype.holds(s.value)):
            return f"{s.name} = {s.value} is not a valid {s.dtype.name}"
    _evaluate_the_rest(case)
    return ""


def _evaluate_the_rest(case: Case) -> None:
    """Evaluate the expressions that make no case impossible."""
    case.source()
    case.hazard  # noqa: B018  (evaluated)
    if case.kernel.shuffle:
        case.kernel.shuffle.argument(case.variables)
    for access in case.kernel.accesses:
        bytes_of(access, case)
        element(access, {**case.variables, "thread_x": 0, "thread_y": 0})


def _overfull(a: ArraySpec) -> str:
    """Why the array's type cannot hold the numbers of the fill; empty if it can."""
    if a.fill not in COUNTING or not a.dtype.is_float:
        return ""
    most = float(ml_dtypes.finfo(a.dtype.numpy).max)  # type: ignore[no-untyped-call]
    count = math.prod(a.shape) * a.dtype.numbers
    return f"fill={a.fill}: {a.dtype.name} holds nothing above {most:g}, '{a.name}' has {count}" if count > most else ""
