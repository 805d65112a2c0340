"""A case: one kernel with one value for each of its parameters; its identity, its launch, and whether it can run.

The identity is a hash of the canonical values, so two ways to write a value give one case. Device, compiler and timing
are not part of it: runs on different devices join on it.
"""

from __future__ import annotations

import functools
import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from runner.device import Dim3, Role, Source
from runner.errors import UsageError
from runner.kernel.arrays import DTYPES, FORMER_NAMES, DType
from runner.kernel.declaration import ArrayArgument, Canonical, Kernel, Kind, ScalarArgument, variables, written


@dataclass(frozen=True)
class ArraySpec:
    """An array without its contents; any process makes the same bytes from it."""

    name: str
    role: Role
    dtype: DType
    shape: tuple[int, ...]
    fill: str | tuple[int | float, ...]
    offset: int
    lead: int
    constant: bool
    refill: bool = True  # whether the check may give it other contents of the same kind

    @property
    def nbytes(self) -> int:
        """Its size."""
        return math.prod(self.shape) * self.dtype.itemsize


@dataclass(frozen=True)
class ScalarSpec:
    """A number passed to the kernel."""

    name: str
    dtype: DType
    value: int | float


@dataclass(frozen=True)
class Case:
    """One combination of the parameters that a kernel reads."""

    kernel: Kernel
    parameters: tuple[tuple[str, Canonical], ...]  # in the order of the vocabulary
    seed: int  # of random inputs
    excluded: str  # why this combination cannot run; empty if it can
    grid: Dim3  # blocks in x, y, z; zeros if excluded
    block: Dim3  # threads in x, y, z
    shared: int  # dynamic shared memory, in bytes

    @functools.cached_property
    def id(self) -> str:
        """The case's identity: 12 hexadecimal digits of a hash."""
        # The fill c_rand is hashed by its former name, so that rows join with those of earlier versions.
        former = {new: old for old, new in FORMER_NAMES.items()}
        chosen = {n: former.get(str(v), v) for n, v in self.chosen.items()}
        text = json.dumps([self.kernel.name, chosen, self.seed], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:12]

    @property
    def hazard(self) -> str:
        """The CUDA rule that the case breaks on purpose; empty if it breaks none."""
        declared = self.kernel.hazard
        return declared.reason if declared and declared.when(self.variables) else ""

    @property
    def chosen(self) -> dict[str, Canonical]:
        """The parameters, without `cache=none`, which any kernel has and which changes nothing."""
        return {n: v for n, v in self.parameters if (n, v) != ("cache", "none")}

    @functools.cached_property
    def variables(self) -> dict[str, int | str]:
        """The names of expressions: the parameters, their parts, and the grid."""
        x, y, z = self.grid
        return {**known_values(self.kernel, dict(self.parameters)), "grid": x * y * z, "grid_x": x, "grid_y": y}

    @property
    def label(self) -> str:
        """The kernel and its values, for people."""
        kinds = {p.name: p.kind for p in self.kernel.parameters}
        return " ".join((self.kernel.name, *(f"{n}={written(kinds[n], v)}" for n, v in self.chosen.items())))

    def arrays(self) -> tuple[ArraySpec, ...]:
        """All arrays, `__constant__` ones included, in the kernel's order."""
        return self._arrays

    @functools.cached_property
    def _arrays(self) -> tuple[ArraySpec, ...]:
        return tuple(self._array(a) for a in self.kernel.arrays)

    def arguments(self) -> tuple[ArraySpec | ScalarSpec, ...]:
        """The kernel's arguments, in order."""
        return tuple(
            self._scalar(a) if isinstance(a, ScalarArgument) else self._array(a)
            for a in self.kernel.arguments
            if isinstance(a, ScalarArgument) or not a.constant
        )

    def source(self) -> Source:
        """The variant to compile."""
        path = self.kernel.source
        macros = tuple((name, self._macro(e.text, e(self.variables))) for name, e in self.kernel.macros)
        constants = tuple(a.name for a in self.kernel.arrays if a.constant)
        dtypes = [DTYPES[str(dict(self.parameters)[p.name])] for p in self.kernel.parameters if p.kind is Kind.DTYPE]
        headers = tuple(dict.fromkeys(d.header for d in dtypes if d.header))
        text, name = _text(path, path.stat().st_mtime_ns), self.kernel.name
        return Source(path, text, name, macros, constants, headers, cooperative=self.kernel.cooperative)

    def count(self, what: str) -> int | None:
        """The value of `bytes_read`, `operations`, `in_flight` or `depth`; `None` if it is not declared."""
        expression = getattr(self.kernel, what)
        return None if expression is None else int(expression(self.variables))

    def dtype(self, word: str) -> DType:
        """A dtype by its own name, or by the parameter that holds it."""
        return DTYPES.get(word) or DTYPES[str(dict(self.parameters)[word])]

    def _array(self, a: ArrayArgument) -> ArraySpec:
        fill, dtype = a.fill, self.dtype(a.dtype)
        shape = tuple(int(e(self.variables)) for e in a.shape)
        where = f"{self.kernel.yaml.name}: argument '{a.name}': fill"
        if isinstance(fill, str):
            fill = str(dict(self.parameters).get(fill, fill))
        elif len(fill) != math.prod(dtype.host_shape(shape)):
            raise UsageError(f"{where}: {len(fill)} numbers for {dtype.name} of the shape {shape}")
        elif wrong := [n for n in fill if not dtype.holds(n)]:
            raise UsageError(f"{where}: {wrong[0]} is not a valid {dtype.name}")
        offset, lead = int(a.offset(self.variables)), int(a.lead(self.variables))
        return ArraySpec(a.name, a.role, dtype, shape, fill, offset, lead, a.constant, a.refill)

    def _scalar(self, a: ScalarArgument) -> ScalarSpec:
        value = a.value if isinstance(a.value, float) else a.value(self.variables)
        return ScalarSpec(a.name, self.dtype(a.dtype), value)

    def _macro(self, text: str, value: Any) -> str:
        """The value of a macro as C++ text: dtypes by their C++ names, masks as unsigned numbers."""
        declared = self.kernel.parameter(text)
        if declared and declared.kind is Kind.DTYPE:
            return DTYPES[str(value)].c_name
        if declared and declared.kind is Kind.MASK:
            return f"{value:#010x}u"
        if isinstance(value, bool):
            return str(value).lower()
        return f"({value})" if isinstance(value, int) and value < 0 else str(value)


def known_values(kernel: Kernel, values: Mapping[str, Canonical]) -> dict[str, int | str]:
    """The parameters' names in expressions: their values, and the parts of blocks and sizes."""
    return {n: v for p in kernel.parameters for n, v in variables(p.name, p.kind, values[p.name]).items()}


@functools.lru_cache(maxsize=256)
def _text(path: Path, _changed: int) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as e:
        raise UsageError(f"{path}: the source cannot be read: {e}") from None
