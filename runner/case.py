"""A case: one kernel with one value for each parameter it reads. Its identity, its launch, and whether it can be.

Two ways of writing the same values are one case: the identity is a hash of the canonical ones. It leaves out the
device, the compiler and the way of timing, so that runs of different devices join on it.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from runner.declaration import ArrayArgument, Constraint, Kernel, ScalarArgument
from runner.device import Dim3, Role, Source
from runner.dtypes import DTYPES, DType
from runner.errors import Mistake
from runner.fill import FILLS
from runner.parameters import VOCABULARY, Canonical, Kind, canonical, pair, variables, written

# What CUDA allows any launch (CUDA C++ Programming Guide, table "Technical Specifications per Compute Capability").
MAX_THREADS = 1024
MAX_GRID = (2**31 - 1, 65535, 65535)


@dataclass(frozen=True)
class ArraySpec:
    """An array, told rather than carried: enough to make it anywhere, byte for byte the same."""

    name: str
    role: Role
    dtype: DType
    shape: tuple[int, ...]
    fill: str | tuple[float, ...]
    offset: int
    constant: bool


@dataclass(frozen=True)
class ScalarSpec:
    """A number passed to the kernel."""

    name: str
    dtype: DType
    value: int | float


@dataclass(frozen=True)
class Case:
    """One combination of the parameters that a kernel reads.

    Attributes:
        kernel: As declared.
        parameters: Canonical values by name, in the vocabulary's order.
        seed: Of the inputs.
        excluded: Why this combination cannot be run; empty if it can.
        grid: Blocks in x, y, z; zeros if excluded.
        block: Threads of a block in x, y, z.
        shared: Dynamic shared memory, in bytes.
    """

    kernel: Kernel
    parameters: tuple[tuple[str, Canonical], ...]
    seed: int
    excluded: str
    grid: Dim3
    block: Dim3
    shared: int

    @functools.cached_property
    def id(self) -> str:
        """12 hexadecimal digits of the hash of what the case is."""
        text = json.dumps([self.kernel.name, self.chosen, self.seed], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:12]

    @property
    def hazard(self) -> str:
        """The rule of CUDA that the case breaks on purpose; empty if none."""
        declared = self.kernel.hazard
        return declared.reason if declared and declared.when(self.variables) else ""

    @property
    def chosen(self) -> dict[str, Canonical]:
        """The parameters that change something: all but those at their neutral value."""
        neutral = {p.name: p.neutral for p in self.kernel.parameters}
        return {n: v for n, v in self.parameters if v != neutral[n]}

    @functools.cached_property
    def variables(self) -> dict[str, int | str]:
        """What expressions see: the parameters, their parts, and the grid."""
        return {
            **_variables(self.kernel, dict(self.parameters)),
            "grid": self.grid[0] * self.grid[1] * self.grid[2],
            "grid_x": self.grid[0],
            "grid_y": self.grid[1],
        }

    @property
    def label(self) -> str:
        """For people: the kernel and its values."""
        kinds = {p.name: p.kind for p in self.kernel.parameters}
        return " ".join((self.kernel.name, *(f"{n}={written(kinds[n], v)}" for n, v in self.chosen.items())))

    def arrays(self) -> tuple[ArraySpec, ...]:
        """The arrays of the launch, constants included, in the kernel's order."""
        return tuple(self._array(a) for a in self.kernel.arrays)

    def arguments(self) -> tuple[ArraySpec | ScalarSpec, ...]:
        """What the kernel is passed, in order."""
        return tuple(
            self._scalar(a) if isinstance(a, ScalarArgument) else self._array(a)
            for a in self.kernel.arguments
            if isinstance(a, ScalarArgument) or not a.constant
        )

    def source(self) -> Source:
        """The variant to compile."""
        macros = tuple((name, self._macro(e.text, e(self.variables))) for name, e in self.kernel.macros)
        path = self.kernel.source
        constants = tuple(a.name for a in self.kernel.arrays if a.constant)
        dtypes = [DTYPES[str(dict(self.parameters)[p.name])] for p in self.kernel.parameters if p.kind is Kind.DTYPE]
        headers = tuple(dict.fromkeys(d.header for d in dtypes if d.header))
        return Source(path, _text(path, path.stat().st_mtime_ns), self.kernel.name, macros, (), constants, headers)

    def count(self, what: str) -> int | None:
        """The declared `bytes_read`, `bytes_written`, `operations` or `depth`, in numbers; `None` if not declared."""
        expression = getattr(self.kernel, what)
        return None if expression is None else int(expression(self.variables))

    def dtype(self, word: str) -> DType:
        """A dtype named directly, or by the parameter that holds it."""
        return DTYPES.get(word) or DTYPES[str(dict(self.parameters)[word])]

    def _array(self, a: ArrayArgument) -> ArraySpec:
        fill = a.fill
        if isinstance(fill, str):
            fill = str(dict(self.parameters).get(fill, fill))
        shape = tuple(int(e(self.variables)) for e in a.shape)
        if not isinstance(fill, str) and len(fill) != math.prod(shape):
            raise Mistake(
                f"{self.kernel.yaml.name}: argument '{a.name}': fill: {len(fill)} numbers for the shape {shape}"
            )
        return ArraySpec(a.name, a.role, self.dtype(a.dtype), shape, fill, int(a.offset(self.variables)), a.constant)

    def _scalar(self, a: ScalarArgument) -> ScalarSpec:
        value = a.value if isinstance(a.value, float) else a.value(self.variables)
        return ScalarSpec(a.name, self.dtype(a.dtype), value)

    def _macro(self, text: str, value: Any) -> str:
        """A macro's replacement, as C++ text: dtypes by their C++ names, masks unsigned."""
        declared = self.kernel.parameter(text)
        if declared and declared.kind is Kind.DTYPE:
            return DTYPES[str(value)].c_name
        if declared and declared.kind is Kind.MASK:
            return f"{value:#010x}u"
        if isinstance(value, bool | str):
            return str(value).lower() if isinstance(value, bool) else value
        return f"({value})" if value < 0 else str(value)


def make(kernel: Kernel, requested: Mapping[str, Any], seed: int) -> Case:
    """Resolve what was asked for into a case.

    Args:
        kernel: The kernel; parameters that it does not read are ignored.
        requested: Values as written; `None` for the kernel's default.
        seed: Of the inputs.

    Raises:
        Mistake: if a value cannot be read. A readable one that the kernel cannot take makes an excluded case.
    """
    values: dict[str, Canonical] = {}
    for p in _in_order(kernel):
        given = requested.get(p.name)
        values[p.name] = p.default if given is None else canonical(p.name, p.kind, given)
        if p.name == "fill" and values[p.name] not in FILLS:
            raise Mistake(f"fill={values[p.name]}: one of {', '.join(FILLS)} is expected")
    known = _variables(kernel, values)
    block = _block(kernel, values)
    excluded = _excluded(kernel, values, known, block)
    grid, shared = (0, 0, 0), 0
    if not excluded:
        x, y, z = (*(int(e(known)) for e in kernel.grid), 1, 1)[:3]
        grid, shared = (x, y, z), int(kernel.shared(known))
        excluded = _beyond_limits(grid)
    case = Case(kernel, tuple(values.items()), seed, excluded, grid, block, shared)
    return case if excluded else dataclasses.replace(case, excluded=_impossible(case))


LARGEST_ARRAY = 2**48  # bytes: beyond any machine, and NumPy's own limits are not far


def _impossible(case: Case) -> str:
    """Why the launch cannot be made, though its parameters are allowed; empty if it can.

    Evaluates every expression of the kernel: one that cannot be is a mistake, told before anything is run.
    """
    for what in ("bytes_read", "bytes_written", "operations", "depth"):
        if (case.count(what) or 0) < 0:
            return f"{what} would be {case.count(what)}"
    if case.shared < 0:
        return f"the dynamic shared memory would be {case.shared} bytes"
    for a in case.arrays():
        if min(a.shape) < 0 or a.offset < 0 or (math.prod(a.shape) + a.offset) * a.dtype.itemsize > LARGEST_ARRAY:
            return f"the array '{a.name}' would have the shape {a.shape} at offset {a.offset}"
    for s in case.arguments():
        if isinstance(s, ScalarSpec) and not _holds(s.dtype, s.value):
            return f"{s.name} = {s.value} is no {s.dtype.name}"
    case.source()
    case.hazard  # noqa: B018  (evaluated)
    return ""


def _holds(dtype: DType, value: int | float) -> bool:
    if dtype.numbers > 1:
        return False
    if dtype.is_float:
        return math.isfinite(value)
    limits = np.iinfo(dtype.numpy)
    return value == int(value) and int(limits.min) <= value <= int(limits.max)


def _in_order(kernel: Kernel) -> Iterable[Any]:
    order = {name: i for i, name in enumerate(VOCABULARY)}
    return sorted(kernel.parameters, key=lambda p: order.get(p.name, len(order)))


def _variables(kernel: Kernel, values: Mapping[str, Canonical]) -> dict[str, int | str]:
    known: dict[str, int | str] = {}
    for p in kernel.parameters:
        known.update(variables(p.name, p.kind, values[p.name]))
    return known


def _block(kernel: Kernel, values: Mapping[str, Canonical]) -> Dim3:
    for p in kernel.parameters:
        if p.kind is Kind.BLOCK:
            x, y = pair(values[p.name])
            return (x, y, 1)
    return (1, 1, 1)


def _excluded(kernel: Kernel, values: Mapping[str, Canonical], known: Mapping[str, int | str], block: Dim3) -> str:
    """Why the values cannot go together; the first reason found."""
    for p in kernel.parameters:
        if p.allowed and values[p.name] not in p.allowed:
            allowed = ", ".join(written(p.kind, a) for a in p.allowed)
            return f"{p.name}={written(p.kind, values[p.name])} is none of the values {kernel.name} takes: {allowed}"
        if p.kind is Kind.SIZE and known[p.name] == 0:
            return f"{p.name}=0: there is nothing to do"
    threads = block[0] * block[1] * block[2]
    if not 1 <= threads <= MAX_THREADS:
        return f"a block of {threads} threads is not within CUDA's 1 to {MAX_THREADS}"
    return next((r for c in kernel.constraints if (r := _broken(c, known))), "")


def _broken(constraint: Constraint, known: Mapping[str, int | str]) -> str:
    if constraint.require(known):
        return ""
    names = sorted(constraint.require.names & known.keys())
    values = ", ".join(f"{n}={f'{known[n]:#010x}' if n == 'mask' else known[n]}" for n in names)
    return f"{constraint.reason} ({constraint.require.text} does not hold for {values})"


def _beyond_limits(grid: Dim3) -> str:
    for axis, blocks, limit in zip("xyz", grid, MAX_GRID, strict=True):
        if not 1 <= blocks <= limit:
            return f"a grid of {blocks} blocks in {axis} is not within CUDA's 1 to {limit}"
    return ""


@functools.lru_cache(maxsize=256)
def _text(path: Path, _changed: int) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as e:
        raise Mistake(f"{path}: the source cannot be read: {e}") from None
