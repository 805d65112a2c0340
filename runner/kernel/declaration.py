"""A kernel as its YAML declares it: its parameters, its launch and its reference. `runner.kernel.from_yaml` reads it.

The values of one case are in `runner.kernel.case`.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from runner.device import Role
from runner.kernel.expression import ArrayExpression, Expression
from runner.kernel.parameters import Canonical, Kind


@dataclass(frozen=True)
class Parameter:
    """A parameter that the kernel reads.

    Attributes:
        name: Its name.
        kind: How its values are written.
        default: Its default, canonical.
        allowed: Its only values, canonical; empty if any value is allowed.
    """

    name: str
    kind: Kind
    default: Canonical
    allowed: tuple[Canonical, ...] = ()


@dataclass(frozen=True)
class ArrayArgument:
    """An array that the kernel reads or writes.

    Attributes:
        name: Its name in the kernel.
        role: What the kernel may do with it.
        dtype: A dtype, or the name of the parameter that holds one.
        shape: One expression for each dimension, slowest first.
        fill: The name of a fill, the parameter that holds one, or the numbers themselves; see `runner.kernel.fill`.
        offset: Elements before the pointer that the kernel gets.
        constant: Whether it is a `__constant__` array of the module, not an argument.
    """

    name: str
    role: Role
    dtype: str
    shape: tuple[Expression, ...]
    fill: str | tuple[int | float, ...]
    offset: Expression
    constant: bool = False


@dataclass(frozen=True)
class ScalarArgument:
    """A number that the kernel is passed: an expression over the parameters, or a constant."""

    name: str
    dtype: str
    value: Expression | float


@dataclass(frozen=True)
class Constraint:
    """A condition that a case must meet; `reason` says why."""

    require: Expression
    reason: str


@dataclass(frozen=True)
class DeclaredHazard:
    """The kernel breaks a rule of CUDA on purpose `when` a condition holds; `reason` names the rule."""

    when: Expression
    reason: str


@dataclass(frozen=True)
class Shuffle:
    """The kernel is one shuffle of its array `in` into `out`, so the two show which lane each lane read.

    Attributes:
        operation: One of `runner.kernel.lanes.INTRINSICS`.
        argument: The intrinsic's third argument.
    """

    operation: str
    argument: Expression


@dataclass(frozen=True)
class Access:
    """One load or store of the kernel. See `runner.kernel.access`.

    Attributes:
        memory: `shared` or `global`.
        kind: `load` or `store`.
        index: The element that a thread accesses, over the parameters and `thread_x`, `thread_y`.
        where: The condition for a thread to take part, over the same names.
        dtype: A dtype, or the name of the parameter that holds one.
        vector: Elements that a thread accesses at once, from `index` on; over the parameters.
    """

    memory: str
    kind: str
    index: Expression
    where: Expression
    dtype: str
    vector: Expression


@dataclass(frozen=True)
class Kernel:
    """A kernel, as declared. See docs/kernel-yaml.md for every key; `common` is its family's YAML, if there is one."""

    name: str
    yaml: Path
    source: Path
    summary: str
    origin: str
    family: str
    baseline: str
    finish: str
    min_arch: int
    gpu_only: str
    parameters: tuple[Parameter, ...]
    macros: tuple[tuple[str, Expression], ...]
    arguments: tuple[ArrayArgument | ScalarArgument, ...]
    grid: tuple[Expression, ...]
    shared: Expression
    constraints: tuple[Constraint, ...]
    bytes_read: Expression | None
    bytes_written: Expression | None
    operations: Expression | None
    in_flight: Expression | None
    reference: str | tuple[tuple[str, ArrayExpression], ...]
    value: ArrayExpression | None
    depth: Expression | None
    shuffle: Shuffle | None
    accesses: tuple[Access, ...]
    hazard: DeclaredHazard | None
    common: Path | None

    def parameter(self, name: str) -> Parameter | None:
        """The parameter of that name; `None` if the kernel has none."""
        return next((p for p in self.parameters if p.name == name), None)

    @property
    def arrays(self) -> tuple[ArrayArgument, ...]:
        """The arrays among the arguments, `__constant__` ones included."""
        return tuple(a for a in self.arguments if isinstance(a, ArrayArgument))
