"""The parts of a kernel's YAML: each entry from a plain dictionary to its frozen dataclass.

All raise `UsageError`, naming the file, the key, the offending value and what is allowed.
"""

from __future__ import annotations

from fractions import Fraction

from runner.device import Role
from runner.errors import UsageError
from runner.kernel.declaration import Access, ArrayArgument, Constraint, Hazard, ScalarArgument, Shuffle
from runner.kernel.fill import FILLS
from runner.kernel.lanes import INTRINSICS
from runner.kernel.yaml_reader import Reader


def argument(d: Reader) -> ArrayArgument | ScalarArgument:
    """An entry of `arguments:`: an array, or a scalar."""
    d.need("name")
    if "scalar" in d.raw:
        d.only(frozenset(("name", "scalar", "value")))
        d.need("value")
        value = d.raw["value"]
        expression = value if isinstance(value, float) else d.expression("value", value)
        return ScalarArgument(d.text("name"), d.text("scalar"), expression)
    d.only(frozenset(("name", "role", "dtype", "shape", "fill", "offset", "constant")))
    d.need("role", "dtype", "shape")
    if d.text("role") not in list(Role):
        raise UsageError(f"{d.where}: role: '{d.text('role')}' is none of {', '.join(Role)}")
    role = Role(d.text("role"))
    filled = role in (Role.IN, Role.INOUT)
    if filled and "fill" not in d.raw:
        raise UsageError(
            f"{d.where}: the key 'fill' is missing; an array of role '{role}' needs one of {', '.join(FILLS)}, a "
            f"parameter that holds one, or a list of numbers"
        )
    return ArrayArgument(
        name=d.text("name"),
        role=role,
        dtype=d.text("dtype"),
        shape=d.expressions("shape", 1, 3),
        fill=_fill(d),
        offset=d.expression("offset", d.raw.get("offset", 0)),
        constant=_constant(d),
    )


def _constant(d: Reader) -> bool:
    value = d.raw.get("constant", False)
    if not isinstance(value, bool):
        raise UsageError(f"{d.where}: constant: true or false is expected, not '{value}'")
    return value


def _fill(d: Reader) -> str | tuple[int | float, ...]:
    given = d.raw.get("fill", "zeros")
    if not isinstance(given, list):
        return d.text("fill", "zeros")
    try:
        numbers = [Fraction(str(n)) for n in given]
        return tuple(int(n) if n.denominator == 1 else float(n) for n in numbers)
    except (ValueError, ZeroDivisionError, OverflowError):
        raise UsageError(f"{d.where}: fill: numbers such as 0.5 or -1/280 are expected, not {given}") from None


def constraint(d: Reader) -> Constraint:
    """An entry of `constraints:`."""
    d.only(frozenset(("require", "reason")))
    d.need("require", "reason")
    return Constraint(d.expression("require", d.raw["require"]), d.text("reason"))


def shuffle(d: Reader) -> Shuffle | None:
    """The key `shuffle`, if it is there."""
    if "shuffle" not in d.raw:
        return None
    s = d.at("shuffle", d.raw["shuffle"])
    s.only(frozenset(("operation", "argument")))
    s.need("operation", "argument")
    if s.text("operation") not in INTRINSICS:
        raise UsageError(f"{s.where}: operation: '{s.text('operation')}' is none of {', '.join(INTRINSICS)}")
    return Shuffle(s.text("operation"), s.expression("argument", s.raw["argument"]))


def hazard(d: Reader) -> Hazard | None:
    """The key `hazard`, if it is there."""
    if "hazard" not in d.raw:
        return None
    h = d.at("hazard", d.raw["hazard"])
    h.only(frozenset(("when", "reason")))
    h.need("when", "reason")
    return Hazard(h.expression("when", h.raw["when"]), h.text("reason"))


def access(d: Reader) -> Access:
    """An entry of `accesses:`."""
    d.only(frozenset(("memory", "kind", "index", "where", "dtype", "vector")))
    d.need("memory", "kind", "index")
    for key, allowed in (("memory", ("shared", "global")), ("kind", ("load", "store"))):
        if d.text(key) not in allowed:
            raise UsageError(f"{d.where}: {key}: '{d.text(key)}' is none of {', '.join(allowed)}")
    return Access(
        memory=d.text("memory"),
        kind=d.text("kind"),
        index=d.expression("index", d.raw["index"]),
        where=d.expression("where", d.raw.get("where", 1)),
        dtype=d.text("dtype", "dtype"),
        vector=d.expression("vector", d.raw.get("vector", 1)),
    )
