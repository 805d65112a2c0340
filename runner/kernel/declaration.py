"""A kernel as its YAML declares it: what it reads, how it is launched, and how its answer is known.

Nothing here knows the values of one case; see `runner.kernel.case`. `runner.kernel.from_yaml` reads it.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from runner.device import Role
from runner.kernel.array_expression import ArrayExpression
from runner.kernel.expression import Expression
from runner.kernel.parameters import Canonical, Kind


@dataclass(frozen=True)
class Parameter:
    """A parameter that the kernel reads.

    Attributes:
        name: The word.
        kind: How its values are written.
        default: Its value where none is given, canonical.
        allowed: The only values it may take, canonical; empty for no such list.
        neutral: The value at which it changes nothing, left out of the case's identity; `None` for none.
    """

    name: str
    kind: Kind
    default: Canonical
    allowed: tuple[Canonical, ...] = ()
    neutral: Canonical | None = None


@dataclass(frozen=True)
class ArrayArgument:
    """An array that the kernel takes.

    Attributes:
        name: The kernel's name for it.
        role: What the kernel may do with it.
        dtype: A dtype, or the name of the parameter that holds one.
        shape: One expression a dimension, slowest first.
        fill: A fill's name, the name of the parameter that holds one, or the numbers themselves; see
            `runner.kernel.fill`.
        offset: Elements before the pointer that the kernel gets.
        constant: Whether it is a `__constant__` array of the module rather than an argument.
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
    """A number that the kernel takes: an expression over the parameters, or a constant."""

    name: str
    dtype: str
    value: Expression | float


@dataclass(frozen=True)
class Constraint:
    """A condition without which the kernel is undefined or wrong; `reason` says why."""

    require: Expression
    reason: str


@dataclass(frozen=True)
class Hazard:
    """That the kernel breaks a rule of CUDA on purpose, `when` a condition holds; `reason` says which."""

    when: Expression
    reason: str


@dataclass(frozen=True)
class Shuffle:
    """That the kernel is one shuffle of its array `in` into `out`, so that these tell which lane each lane read.

    Attributes:
        operation: One of `runner.kernel.lanes.INTRINSICS`.
        argument: The intrinsic's third argument.
    """

    operation: str
    argument: Expression


@dataclass(frozen=True)
class Access:
    """One load or store of the kernel, as a warp makes it. See `runner.kernel.access`.

    Attributes:
        memory: `shared` or `global`.
        kind: `load` or `store`.
        index: The element that a thread accesses, over the parameters and `thread_x`, `thread_y`.
        where: Which threads make it, over the same.
        dtype: A dtype, or the name of the parameter that holds one.
        vector: Elements that a thread accesses at once, beginning with that of `index`; over the parameters.
    """

    memory: str
    kind: str
    index: Expression
    where: Expression
    dtype: str
    vector: Expression


@dataclass(frozen=True)
class Kernel:
    """A kernel, as declared. See docs/kernel-yaml.md for every key."""

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
    hazard: Hazard | None

    def parameter(self, name: str) -> Parameter | None:
        """The parameter of that name, if the kernel reads it."""
        return next((p for p in self.parameters if p.name == name), None)

    @property
    def arrays(self) -> tuple[ArrayArgument, ...]:
        """The arrays among the arguments, constants included."""
        return tuple(a for a in self.arguments if isinstance(a, ArrayArgument))
