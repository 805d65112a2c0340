"""The parts of a kernel's YAML: each entry from a plain dictionary to its frozen dataclass, and what must fit together.

All functions raise `UsageError`, which names the file, the key, the offending value and what is allowed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from fractions import Fraction

from runner.device import Role
from runner.errors import UsageError
from runner.kernel.declaration import (
    Access,
    ArrayArgument,
    Constraint,
    DeclaredHazard,
    Kernel,
    Parameter,
    ScalarArgument,
    Shuffle,
)
from runner.kernel.dtypes import DTYPES
from runner.kernel.expression import ArrayExpression, Expression, shortened
from runner.kernel.fill import FILLS, FORMER_NAMES
from runner.kernel.lanes import INTRINSICS
from runner.kernel.parameters import Kind
from runner.kernel.yaml_reader import Reader

Arguments = Sequence[ArrayArgument | ScalarArgument]


def arguments(d: Reader, parameters: Sequence[Parameter]) -> tuple[ArrayArgument | ScalarArgument, ...]:
    """The key `arguments`."""
    found = tuple(argument(a) for a in d.each("arguments"))
    names = [a.name for a in found]
    if repeated := [n for n in names if names.count(n) > 1 or n in {p.name for p in parameters}]:
        raise UsageError(f"{d.where}: arguments: the name '{repeated[0]}' is given twice, or is a parameter's")
    return found


def argument(d: Reader) -> ArrayArgument | ScalarArgument:
    """An entry of `arguments:`: an array, or a scalar."""
    d.need("name")
    if "scalar" in d.raw:
        d.only(("name", "scalar", "value"))
        d.need("value")
        value = d.raw["value"]
        return ScalarArgument(
            d.text("name"), d.text("scalar"), value if isinstance(value, float) else d.expression("value")
        )
    d.only(("name", "role", "dtype", "shape", "fill", "offset", "constant"))
    d.need("role", "dtype", "shape")
    role = Role(d.choice("role", list(Role)))
    if role in (Role.IN, Role.INOUT) and "fill" not in d.raw:
        raise UsageError(
            f"{d.where}: the key 'fill' is missing; an array of role '{role}' needs one of {', '.join(FILLS)}, a "
            f"parameter that holds one, or a list of numbers"
        )
    constant = d.raw.get("constant", False)
    if not isinstance(constant, bool):
        raise UsageError(f"{d.where}: constant: true or false is expected, not '{constant}'")
    return ArrayArgument(
        name=d.text("name"),
        role=role,
        dtype=d.text("dtype"),
        shape=d.expressions("shape"),
        fill=_fill(d),
        offset=d.expression("offset", 0),
        constant=constant,
    )


def _fill(d: Reader) -> str | tuple[int | float, ...]:
    given = d.raw.get("fill", "zeros")
    if not isinstance(given, list):
        text = d.text("fill", "zeros")
        return FORMER_NAMES.get(text, text)
    try:
        numbers = [Fraction(str(n)) for n in given]
        return tuple(int(n) if n.denominator == 1 else float(n) for n in numbers)
    except (ValueError, ZeroDivisionError, OverflowError):
        raise UsageError(f"{d.where}: fill: numbers such as 0.5 or -1/280 are expected, not {given}") from None


def macros(d: Reader) -> tuple[tuple[str, Expression], ...]:
    """The key `macros`: names, each the upper-cased parameter (SCALAR: `dtype`), or `NAME: expression`."""
    given = d.raw.get("macros") or {}
    found: list[tuple[str, Expression]] = []
    for entry in given if isinstance(given, list) else [given]:
        if isinstance(entry, str):
            content = {entry: "dtype" if entry == "SCALAR" else entry.lower()}
        else:
            content = d.at("macros", entry).raw
        for name, value in content.items():
            # Shorter names collide with those of CUDA's headers and of the CPU device's own.
            if not isinstance(name, str) or not re.fullmatch(r"[A-Z][A-Z0-9_]{3,}", name):
                raise UsageError(
                    f"{d.where}: macros: '{name}': four or more of A-Z, 0-9 and _ are expected, a letter first"
                )
            found.append((name, d.as_expression(f"macros.{name}", value, number=False)))
    return tuple(found)


def constraints(d: Reader) -> Iterator[Constraint]:
    """The key `constraints`: `condition: reason`, or a list of `{require, reason}`."""
    if isinstance(d.raw.get("constraints"), dict):
        for condition, reason in d.items("constraints"):
            level = d.at("constraints", {"require": condition, "reason": reason})
            level.need("require", "reason")
            yield Constraint(level.expression("require"), level.text("reason"))
        return
    for entry in d.each("constraints"):
        entry.only(("require", "reason"))
        entry.need("require", "reason")
        yield Constraint(entry.expression("require"), entry.text("reason"))


def one_dimension(d: Reader, parameters: Sequence[Parameter]) -> Iterator[Constraint]:
    """Blocks have one dimension, unless the default block has two or an expression uses `block_y`."""
    for p in parameters:
        if p.kind is Kind.BLOCK and "x" not in str(p.default) and f"{p.name}_y" not in d.used:
            require = d.as_expression("block", f"{p.name}_y == 1")
            yield Constraint(require, "the kernel numbers its threads in x alone")


def shuffle(d: Reader) -> Shuffle | None:
    """The key `shuffle`, if it is there."""
    s = d.section("shuffle", "operation", "argument")
    return Shuffle(s.choice("operation", list(INTRINSICS)), s.expression("argument")) if s else None


def hazard(d: Reader) -> DeclaredHazard | None:
    """The key `hazard`, if it is there."""
    h = d.section("hazard", "when", "reason")
    return DeclaredHazard(h.expression("when"), h.text("reason")) if h else None


def access(d: Reader, threads: Sequence[str]) -> Access:
    """An entry of `accesses:`, whose expressions may use the names of `threads`."""
    d.only(("memory", "kind", "index", "where", "dtype", "vector"))
    d.need("memory", "kind", "index")
    return Access(
        memory=d.choice("memory", ("shared", "global")),
        kind=d.choice("kind", ("load", "store")),
        index=d.expression("index", more=threads),
        where=d.expression("where", 1, more=threads),
        dtype=d.text("dtype", "dtype"),
        vector=d.expression("vector", 1),
    )


def reference(d: Reader, arguments: Arguments) -> str | tuple[tuple[str, ArrayExpression], ...]:
    """The key `reference`: a dotted path, or one expression for each output."""
    value = d.raw["reference"]
    if isinstance(value, str):
        if not re.fullmatch(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)+", value):
            raise UsageError(f"{d.where}: reference: '{value}' is no dotted path such as my_references.expected")
        return value
    arrays = [a for a in arguments if isinstance(a, ArrayArgument)]
    needed = [a.name for a in arrays if a.role is Role.OUT]
    possible = [a.name for a in arrays if a.role in (Role.OUT, Role.INOUT)]
    given = d.at("reference", value)
    if not possible:
        raise UsageError(f"{d.where}: arguments: no array has the role out or inout: there is no result to compare")
    if not given.raw or not set(needed) <= set(given.raw) <= set(possible):
        raise UsageError(
            f"{given.where}: an expression for each of {', '.join(needed or possible)} is expected, not for "
            f"{', '.join(map(str, given.raw)) or 'none'}"
        )
    return tuple((str(n), array_expression(d, f"reference.{n}", str(e), arguments)) for n, e in given.raw.items())


def array_expression(d: Reader, key: str, text: str, arguments: Arguments) -> ArrayExpression:
    """An expression over the arrays and the parameters."""
    found = ArrayExpression(text, f"{d.where}: {key}")
    known = {*d.known, *(a.name for a in arguments if isinstance(a, ArrayArgument))}
    for name in sorted(found.names - known):
        raise UsageError(
            f"{found.where}: '{shortened(text)}' names '{name}', which is neither an array nor a parameter; known are "
            f"{', '.join(sorted(known))}"
        )
    d.used |= found.names
    return found


def require_sound(kernel: Kernel) -> None:
    """Check that the parts fit together, so that a wrong name is found before a case needs it."""
    file = kernel.yaml.name
    words = [p.name for p in kernel.parameters if p.kind is Kind.DTYPE]
    for a in (*kernel.arguments, *kernel.accesses):
        if a.dtype not in DTYPES and a.dtype not in words:
            what = f"an access to {a.memory} memory" if isinstance(a, Access) else f"argument '{a.name}'"
            allowed = ", ".join((*DTYPES, *words))
            raise UsageError(f"{file}: {what}: '{a.dtype}' is no dtype; allowed are {allowed}")
    fills = {*FILLS, *(p.name for p in kernel.parameters if p.kind is Kind.CHOICE)}
    for array in kernel.arrays:
        if isinstance(array.fill, str) and array.fill not in fills:
            raise UsageError(f"{file}: argument '{array.name}': fill: '{array.fill}' is none of {', '.join(FILLS)}")
    if kernel.shuffle:
        _require_a_shuffle(kernel, f"{file}: shuffle")


def _require_a_shuffle(kernel: Kernel, where: str) -> None:
    """The arrays `in` and `out` show what was moved; these parameters say what should have been."""
    if missing := [n for n in ("block", "width", "mask") if kernel.parameter(n) is None]:
        raise UsageError(f"{where}: the kernel has no parameter '{missing[0]}', which it needs for that")
    arrays = {a.name: a for a in kernel.arrays if not a.constant}
    for name in (Role.IN, Role.OUT):
        if name not in arrays or arrays[name].role is not name:
            raise UsageError(f"{where}: the kernel has no array '{name}' of the role '{name}'")
    if len({(a.dtype, tuple(e.text for e in a.shape)) for a in (arrays["in"], arrays["out"])}) > 1:
        raise UsageError(f"{where}: 'in' and 'out' need one dtype and one shape")
