"""What must hold between the parts of a kernel's YAML: a name that one part uses is declared by another.

All raise `UsageError`, naming the file, the key, the offending value and what is allowed. A misspelt name is caught
when the YAML is read, not when a case happens to need it.
"""

from __future__ import annotations

from runner.device import Role
from runner.errors import UsageError
from runner.kernel.declaration import Access, ArrayArgument, Kernel, ScalarArgument
from runner.kernel.dtypes import DTYPES
from runner.kernel.expression import Expression, shortened
from runner.kernel.fill import FILLS
from runner.kernel.parameters import Kind


def require_sound(kernel: Kernel) -> None:
    """Whatever must hold."""
    known = _numbers(kernel)
    _require_known_in_expressions(kernel, known)
    _require_known_in_references(kernel, known)
    _require_dtypes(kernel)
    _require_fills(kernel)
    if kernel.shuffle:
        _require_a_shuffle(kernel)


def _numbers(kernel: Kernel) -> frozenset[str]:
    """The names that any expression may use."""
    known = {p.name for p in kernel.parameters} | {"grid", "grid_x", "grid_y"}
    known |= {"rows", "cols"} if any(p.kind is Kind.SIZE for p in kernel.parameters) else set()
    known |= {f"{p.name}_{axis}" for p in kernel.parameters if p.kind is Kind.BLOCK for axis in "xy"}
    return frozenset(known)


def _require_known_in_expressions(kernel: Kernel, known: frozenset[str]) -> None:
    expressions = [
        *kernel.grid,
        kernel.shared,
        *(c.require for c in kernel.constraints),
        *(e for _, e in kernel.macros),
        *(e for a in kernel.arrays for e in (*a.shape, a.offset)),
        *(e for e in _counts(kernel) if e),
        *([kernel.shuffle.argument] if kernel.shuffle else []),
        *([kernel.hazard.when] if kernel.hazard else []),
        *(a.value for a in kernel.arguments if isinstance(a, ScalarArgument) and isinstance(a.value, Expression)),
        *(a.vector for a in kernel.accesses),
    ]
    for e in expressions:
        _require_known(e, known)
    for e in (e for a in kernel.accesses for e in (a.index, a.where)):
        _require_known(e, known | {"thread_x", "thread_y"})


def _counts(kernel: Kernel) -> tuple[Expression | None, ...]:
    return (kernel.bytes_read, kernel.bytes_written, kernel.operations, kernel.in_flight, kernel.depth)


def _require_known(e: Expression, known: frozenset[str]) -> None:
    for name in sorted(e.names - known):
        raise UsageError(
            f"{e.where}: '{shortened(e.text)}' names '{name}', which is no parameter; known are "
            f"{', '.join(sorted(known))}"
        )


def _require_known_in_references(kernel: Kernel, known: frozenset[str]) -> None:
    arrays = {a.name for a in kernel.arrays}
    references = () if isinstance(kernel.reference, str) else tuple(e for _, e in kernel.reference)
    for reference in (*references, *filter(None, [kernel.value])):
        for name in sorted(reference.names - known - arrays):
            raise UsageError(
                f"{reference.where}: '{shortened(reference.text)}' names '{name}', which is neither an array nor a "
                f"parameter; known are {', '.join(sorted(known | arrays))}"
            )


def _require_dtypes(kernel: Kernel) -> None:
    words = {p.name for p in kernel.parameters if p.kind is Kind.DTYPE}
    for a in (*kernel.arguments, *kernel.accesses):
        if a.dtype not in DTYPES and a.dtype not in words:
            raise UsageError(
                f"{kernel.yaml.name}: {_called(a)}: '{a.dtype}' is no dtype; allowed are "
                f"{', '.join((*DTYPES, *sorted(words)))}"
            )


def _called(a: ArrayArgument | ScalarArgument | Access) -> str:
    return f"an access to {a.memory} memory" if isinstance(a, Access) else f"argument '{a.name}'"


def _require_fills(kernel: Kernel) -> None:
    choices = {p.name for p in kernel.parameters if p.kind is Kind.CHOICE}
    for a in kernel.arrays:
        if isinstance(a.fill, str) and a.fill not in FILLS and a.fill not in choices:
            raise UsageError(f"{kernel.yaml.name}: argument '{a.name}': fill: '{a.fill}' is none of {', '.join(FILLS)}")


def _require_a_shuffle(kernel: Kernel) -> None:
    """What was moved is told from the arrays `in` and `out`, and compared with what these parameters ask for."""
    there = {p.name for p in kernel.parameters}
    if missing := [n for n in ("block", "width", "mask") if n not in there]:
        raise UsageError(
            f"{kernel.yaml.name}: shuffle: the kernel has no parameter '{missing[0]}', which it needs for that"
        )
    arrays = {a.name: a for a in kernel.arrays if not a.constant}
    for name in (Role.IN, Role.OUT):
        if name not in arrays or arrays[name].role is not name:
            raise UsageError(f"{kernel.yaml.name}: shuffle: the kernel has no array '{name}' of the role '{name}'")
    if len({(a.dtype, tuple(e.text for e in a.shape)) for a in (arrays["in"], arrays["out"])}) > 1:
        raise UsageError(f"{kernel.yaml.name}: shuffle: 'in' and 'out' need one dtype and one shape")
