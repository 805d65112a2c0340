"""Reads one level of a kernel's YAML, and its entries: from plain dictionaries to frozen dataclasses.

All functions raise `UsageError`, which names the file, the key, the offending value and what is allowed.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

import yaml

from runner.device import Role
from runner.errors import UsageError
from runner.kernel.arrays import DTYPES, FILLS, FORMER_NAMES
from runner.kernel.declaration import Access, ArrayArgument, Constraint, Kernel, Kind, Parameter, ScalarArgument
from runner.kernel.expression import ArrayExpression, Expression, expanded, shortened

Arguments = Sequence[ArrayArgument | ScalarArgument]

LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # the one in C takes a tenth of the time


def shown(value: Any) -> str:
    """A value as YAML writes it, in quotes, and cut if it is long."""
    text = "null" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
    return f"'{shortened(text, 60)}'"


class Reader:
    """One level of a YAML: its content, its place for messages, and the level above if there is one."""

    def __init__(self, content: Any, where: str, above: Reader | None = None) -> None:
        if not isinstance(content, dict):
            raise UsageError(f"{where}: expected keys with values, not {shown(content)}")
        self.raw: dict[str, Any] = content
        self.where = where
        self.known: Collection[str] = above.known if above else ()  # the names that an expression may use
        self.let: Mapping[str, str] = above.let if above else {}  # expressions that others may use by name
        self.used: set[str] = above.used if above else set()  # the names in the expressions read so far

    def at(self, key: str, content: Any) -> Reader:
        """The level below, under `key`."""
        return Reader(content, f"{self.where}: {key}", self)

    def each(self, key: str) -> Iterator[Reader]:
        """The entries of a list, each a level."""
        return (self.at(f"{key}[{i}]", entry) for i, entry in enumerate(self.sequence(key)))

    def section(self, key: str, *required: str) -> Reader | None:
        """The level below `key`, which has exactly these keys; `None` if it is not there."""
        return self.at(key, self.raw[key]).exactly(*required) if key in self.raw else None

    def exactly(self, *keys: str) -> Reader:
        """This level, which must have these keys and no others."""
        self.only(keys)
        self.need(*keys)
        return self

    def only(self, allowed: Iterable[str]) -> None:
        """Refuse keys that are not in `allowed`."""
        allowed = sorted(allowed)
        for key in self.raw:
            if key not in allowed:
                near = difflib.get_close_matches(str(key), allowed, n=1)
                hint = f"; did you mean {near[0]}?" if near else ""
                raise UsageError(f"{self.where}: {shown(key)} is not a valid key{hint}; allowed: {', '.join(allowed)}")

    def need(self, *keys: str) -> None:
        """Refuse a level without these keys."""
        for key in keys:
            if self.raw.get(key) in (None, ""):
                raise UsageError(f"{self.where}: the key '{key}' is missing")

    def text(self, key: str, default: str | None = None) -> str:
        """A piece of text."""
        value = self.raw.get(key, default)
        if not isinstance(value, str):
            raise UsageError(f"{self.where}: {key}: expected text, not {shown(value)}")
        return value

    def flag(self, key: str, *, default: bool) -> bool:
        """True or false."""
        value = self.raw.get(key, default)
        if not isinstance(value, bool):
            raise UsageError(f"{self.where}: {key}: expected true or false, not {shown(value)}")
        return value

    def choice(self, key: str, allowed: Collection[str], default: str | None = None) -> str:
        """One of a few words."""
        value = self.text(key, default)
        if value not in allowed:
            raise UsageError(f"{self.where}: {key}: '{value}' is not a valid {key}; allowed: {', '.join(allowed)}")
        return value

    def sequence(self, key: str) -> list[Any]:
        """A list; empty where there is none."""
        value = self.raw.get(key) or []
        if not isinstance(value, list):
            raise UsageError(f"{self.where}: {key}: expected a list, not {shown(value)}")
        return value

    def items(self, key: str) -> list[tuple[Any, Any]]:
        """The keys and values below `key`; empty where there are none."""
        return list(self.at(key, self.raw.get(key) or {}).raw.items())

    def expression(self, key: str, default: Any = None, *, more: Collection[str] = ()) -> Expression:
        """The expression under `key`; `more` names that it may use."""
        return self.as_expression(key, self.raw.get(key, default), more=more)

    def as_expression(self, key: str, value: Any, *, number: bool = True, more: Collection[str] = ()) -> Expression:
        """A value as an expression: of a number, unless text such as a dtype will do."""
        where = f"{self.where}: {key}"
        if isinstance(value, bool) or not isinstance(value, int | str):
            raise UsageError(f"{where}: expected an expression, not {shown(value)}")
        code = expanded(str(value), self.let, where)
        e = Expression(str(value), where, "" if code == str(value) else code, number)
        known = {*self.known, *more}
        for name in sorted(e.names - known):
            names = ", ".join(sorted({*known, *self.let}))
            raise UsageError(f"{e.shown} names '{name}', which is not a parameter; known: {names}")
        self.used |= e.names
        return e

    def optional_expression(self, key: str) -> Expression | None:
        """An expression, or `None` where there is none."""
        return None if self.raw.get(key) is None else self.expression(key)

    def expressions(self, key: str) -> tuple[Expression, ...]:
        """One expression, or a list of one to three."""
        value = self.raw.get(key)
        values = value if isinstance(value, list) else [value]
        if not 1 <= len(values) <= 3:
            raise UsageError(f"{self.where}: {key}: expected 1 to 3 expressions, not {len(values)}")
        return tuple(self.as_expression(key, v) for v in values)


def argument(d: Reader) -> ArrayArgument | ScalarArgument:
    """An entry of `arguments:`: an array, or a scalar."""
    d.need("name")
    if "scalar" in d.raw:
        d.exactly("name", "scalar", "value")
        value = d.raw["value"] if isinstance(d.raw["value"], float) else d.expression("value")
        return ScalarArgument(d.text("name"), d.text("scalar"), value)
    d.only(("name", "role", "dtype", "shape", "fill", "offset", "lead", "constant", "refill"))
    d.need("role", "dtype", "shape")
    role = Role(d.choice("role", list(Role)))
    if role in (Role.IN, Role.INOUT) and "fill" not in d.raw:
        raise UsageError(
            f"{d.where}: the key 'fill' is missing; an array of role '{role}' needs one of {', '.join(FILLS)}, a "
            f"parameter that holds one, or a list of numbers"
        )
    constant, refill = d.flag("constant", default=False), d.flag("refill", default=True)
    if constant and role in (Role.OUT, Role.INOUT):
        raise UsageError(
            f"{d.where}: constant: a __constant__ or __device__ array is not compared, so it cannot have the role "
            f"'{role}'; allowed are in, state and scratch"
        )
    for key in ("offset", "lead"):
        if constant and key in d.raw:
            raise UsageError(f"{d.where}: {key}: a __constant__ or __device__ array is no pointer that could be moved")
    shape, offset, lead = d.expressions("shape"), d.expression("offset", 0), d.expression("lead", 0)
    return ArrayArgument(d.text("name"), role, d.text("dtype"), shape, _fill(d), offset, lead, constant, refill)


def _fill(d: Reader) -> str | tuple[int | float, ...]:
    given = d.raw.get("fill")
    if not isinstance(given, list):
        text = d.text("fill", "zeros")
        return FORMER_NAMES.get(text, text)
    try:
        numbers = [Fraction(str(n)) for n in given]
        return tuple(int(n) if n.denominator == 1 else float(n) for n in numbers)
    except (ValueError, ZeroDivisionError, OverflowError):
        raise UsageError(f"{d.where}: fill: expected numbers such as 0.5 or -1/280, not {given}") from None


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
            if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII):
                raise UsageError(f"{d.where}: macros: {shown(name)}: expected a name of letters, digits and _")
            found.append((name, d.as_expression(f"macros.{name}", value, number=False)))
    return tuple(found)


def function(d: Reader, name: str) -> tuple[str | Expression, ...]:
    """The key `function`, cut where a template's arguments name a parameter. Default: the kernel's own name."""
    text = d.text("function", name).strip()
    named = re.fullmatch(r"((?:::)?[A-Za-z_]\w*(?:::[A-Za-z_]\w*)*) *(<[^;{}#\"\n]*>)?", text, re.ASCII)
    if not named or any(text.count(a) != text.count(b) for a, b in ("()", "[]")):
        raise UsageError(
            f"{d.where}: function: {shown(text)} is not the name of a function such as reduce, sums::reduce or "
            f"reduce<SCALAR, 256>"
        )
    pieces: list[str | Expression] = [named[1]]
    for piece in re.split(r"((?<![\w.:])[A-Za-z_]\w*\b(?!\s*::))", named[2] or ""):
        known = piece in d.known or piece in d.let
        pieces.append(d.as_expression("function", piece, number=False) if known else piece)
    return tuple(filter(None, pieces))


def constraints(d: Reader) -> Iterator[Constraint]:
    """The key `constraints`: `condition: reason`, or a list of `{require, reason}`."""
    if isinstance(given := d.raw.get("constraints"), dict):
        level = d.at("constraints", given)
        yield from (Constraint(d.as_expression("constraints", c), level.text(c)) for c in given)
        return
    for entry in d.each("constraints"):
        entry.exactly("require", "reason")
        yield Constraint(entry.expression("require"), entry.text("reason"))


def one_dimension(d: Reader, parameters: Sequence[Parameter]) -> Iterator[Constraint]:
    """Blocks have one dimension, unless the default block has two or an expression uses `block_y`."""
    for p in parameters:
        if p.kind is Kind.BLOCK and "x" not in str(p.default) and f"{p.name}_y" not in d.used:
            require = d.as_expression("block", f"{p.name}_y == 1")
            yield Constraint(require, "the kernel numbers its threads in x alone")


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
            raise UsageError(f"{d.where}: reference: '{value}' is not a dotted path such as my_references.expected")
        return value
    arrays = [a for a in arguments if isinstance(a, ArrayArgument)]
    needed = [a.name for a in arrays if a.role is Role.OUT]
    possible = [a.name for a in arrays if a.role in (Role.OUT, Role.INOUT)]
    given = d.at("reference", value)
    if not possible:
        raise UsageError(f"{d.where}: arguments: no array has the role out or inout: there is no result to compare")
    if not given.raw or not set(needed) <= set(given.raw) <= set(possible):
        raise UsageError(
            f"{given.where}: expected an expression for each of {', '.join(needed or possible)}, not for "
            f"{', '.join(map(str, given.raw)) or 'none'}"
        )
    return tuple((str(n), array_expression(d, f"reference.{n}", str(e), arguments)) for n, e in given.raw.items())


def array_expression(d: Reader, key: str, text: str, arguments: Arguments) -> ArrayExpression:
    """An expression over the arrays and the parameters."""
    found = ArrayExpression(text, f"{d.where}: {key}")
    known = {*d.known, *(a.name for a in arguments if isinstance(a, ArrayArgument))}
    for name in sorted(found.names - known):
        names = ", ".join(sorted(known))
        raise UsageError(f"{found.shown} names '{name}', which is neither an array nor a parameter; known: {names}")
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
            raise UsageError(f"{file}: {what}: '{a.dtype}' is not a dtype; allowed: {allowed}")
    fills = {*FILLS, *(p.name for p in kernel.parameters if p.kind is Kind.CHOICE)}
    for array in kernel.arrays:
        if isinstance(array.fill, str) and array.fill not in fills:
            raise UsageError(
                f"{file}: argument '{array.name}': fill: '{array.fill}' is not a fill; allowed: {', '.join(FILLS)}"
            )
    if not kernel.shuffle:
        return
    # The arrays `in` and `out` show what was moved; these parameters say what should have been.
    where = f"{file}: shuffle"
    if missing := [n for n in ("block", "width", "mask") if kernel.parameter(n) is None]:
        raise UsageError(f"{where}: the kernel has no parameter '{missing[0]}', which it needs for that")
    arrays = {a.name: a for a in kernel.arrays if not a.constant}
    for name in (Role.IN, Role.OUT):
        if name not in arrays or arrays[name].role is not name:
            raise UsageError(f"{where}: the kernel has no array '{name}' of the role '{name}'")
    if len({(a.dtype, tuple(e.text for e in a.shape)) for a in (arrays["in"], arrays["out"])}) > 1:
        raise UsageError(f"{where}: 'in' and 'out' need one dtype and one shape")
