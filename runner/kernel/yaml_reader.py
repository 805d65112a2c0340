"""Reads one level of a kernel's YAML and its entries: from plain dictionaries to frozen dataclasses.

All functions raise UsageError, which names the file, the key, the offending value and what is allowed.
"""

from __future__ import annotations

import ast
import dataclasses
import difflib
import re
import stat
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from runner.bounds.array_expression import ArrayExpression
from runner.bounds.formula import called, expanded, named, parse, shortened
from runner.device import Role
from runner.errors import UsageError
from runner.files.limited_yaml import LOADER, check_yaml
from runner.kernel.arrays import DTYPE_ALIASES, DTYPES, FILLS, DType, part_types
from runner.kernel.declaration import (
    ArrayArgument,
    Constraint,
    FunctionName,
    Kernel,
    Kind,
    Parameter,
    PointerArgument,
    ScalarArgument,
)
from runner.kernel.expression import Expression, RealExpression
from runner.kernel.recipes import KINDS, Fill, OfFields
from runner.kernel.reference import missing

Argument = ArrayArgument | ScalarArgument | PointerArgument

# Hydra composes a configuration file several times, a millisecond per node each.
MOST_BYTES, MOST_NODES = 2**18, 10_000
MOST_REFERENCES = 24  # ${...} in a file: each may expand to several others, so the expansion grows exponentially
MOST_PARAMETERS = 256  # of a kernel


def config_text(path: Path) -> str:
    """The text of a configuration file. Raises UsageError beyond the limits of size, nodes and nesting."""
    where = f"{path.parent.name}/{path.name}"
    try:
        if not (path.is_file() or path.is_dir() or stat.S_ISREG(path.stat().st_mode)):  # a FIFO never ends
            raise UsageError(f"{where}: cannot be read: this is not a regular file")
        with path.open("rb") as file:
            content = file.read(MOST_BYTES + 1)
        if len(content) > MOST_BYTES:
            raise UsageError(f"{where}: a configuration file cannot have more than {MOST_BYTES:,} bytes")
        text = content.decode()
        check_yaml(text, MOST_NODES)
    except OSError as e:
        raise UsageError(f"{where}: cannot be read: {e.strerror}") from None
    except ValueError as e:
        raise UsageError(f"{where}: invalid YAML: {e}") from None
    if (references := text.count("${")) > MOST_REFERENCES:
        raise UsageError(f"{where}: a configuration file can refer to {MOST_REFERENCES} values, not {references}")
    return text


def read_yaml(path: Path, loader: Any = LOADER) -> Any:
    """The content of a configuration file, as plain values."""
    text, where = config_text(path), f"{path.parent.name}/{path.name}"
    try:
        return yaml.load(text, Loader=loader)  # noqa: S506  (a safe one)
    except yaml.MarkedYAMLError as e:
        if loader is LOADER is not yaml.SafeLoader:  # it says more
            return read_yaml(path, yaml.SafeLoader)
        mark = e.problem_mark or e.context_mark
        at = f", line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        raise UsageError(f"{where}{at}: invalid YAML: {e.problem or e.context}") from None
    except (yaml.YAMLError, ValueError, RecursionError) as e:
        raise UsageError(f"{where}: invalid YAML: {str(e).splitlines()[0]}") from None


def require_few_parameters(content: Any, where: str) -> None:
    """Raise UsageError for more than `MOST_PARAMETERS` parameters, which would take too long to compose."""
    parameters = content.get("parameters") if isinstance(content, dict) else None
    if isinstance(parameters, dict) and len(parameters) > MOST_PARAMETERS:
        raise UsageError(f"{where}: parameters: a kernel can have {MOST_PARAMETERS}, not {len(parameters):,}")


def shown(value: Any) -> str:
    """A value as YAML writes it, in quotes, and cut to a message's length."""
    text = "null" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
    return f"'{shortened(text, 60)}'"


class Reader:
    """One level of a YAML: its content, its path for messages, and what it inherits from the level above."""

    def __init__(self, content: Any, where: str, above: Reader | None = None) -> None:
        if not isinstance(content, dict):
            raise UsageError(f"{where}: expected keys with values, not {shown(content)}")
        self.raw: dict[str, Any] = content
        self.where = where
        self.known: Collection[str] = above.known if above else ()  # names that expressions may use
        self.let: Mapping[str, str] = above.let if above else {}  # definitions over parameters, by name
        self.used: set[str] = above.used if above else set()  # the names in the expressions read so far
        self.whole: set[str] = above.whole if above else set()  # names in expressions that must give integers
        self.words: Mapping[str, tuple[Any, ...]] = above.words if above else {}  # the allowed words, by parameter
        self.arrays: Mapping[str, tuple[DType, ...]] = above.arrays if above else {}  # possible types, by array
        self.helpers: Mapping[str, str] = above.helpers if above else {}  # definitions over arrays, by name
        self.structs: Mapping[str, DType] = above.structs if above else {}
        self.grid: tuple[Expression, ...] = above.grid if above else ()  # the default of launches, as is `shared`
        self.shared: Any = above.shared if above else 0
        self.folder: Path = above.folder if above else Path()  # that contains the YAML

    def at(self, key: str, content: Any) -> Reader:
        """The level below `key`, with the given content."""
        return Reader(content, f"{self.where}: {key}", self)

    def each(self, key: str) -> Iterator[Reader]:
        """The entries of a list, each as a level."""
        return (self.at(f"{key}[{i}]", entry) for i, entry in enumerate(self.sequence(key)))

    def section(self, key: str, *required: str) -> Reader | None:
        """The level below `key`, which must have exactly these keys; `None` if `key` is missing."""
        return self.at(key, self.raw[key]).exactly(*required) if key in self.raw else None

    def exactly(self, *keys: str) -> Reader:
        """This level, which must have exactly these keys."""
        self.only(keys)
        self.need(*keys)
        return self

    def only(self, allowed: Iterable[str]) -> None:
        """Raise UsageError for keys that are not in `allowed`."""
        allowed = sorted(allowed)
        for key in self.raw:
            if key not in allowed:
                near = difflib.get_close_matches(str(key), allowed, n=1)
                hint = f"; did you mean {near[0]}?" if near else ""
                raise UsageError(f"{self.where}: {shown(key)} is not a valid key{hint}; allowed: {', '.join(allowed)}")

    def need(self, *keys: str) -> None:
        """Raise UsageError if one of these keys is missing."""
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
        """The list under `key`; empty if `key` is missing."""
        value = self.raw.get(key) or []
        if not isinstance(value, list):
            raise UsageError(f"{self.where}: {key}: expected a list, not {shown(value)}")
        return value

    def items(self, key: str) -> list[tuple[Any, Any]]:
        """The keys and values below `key`; empty if `key` is missing."""
        return list(self.at(key, self.raw.get(key) or {}).raw.items())

    def expression(
        self, key: str, default: Any = None, *, more: Collection[str] = (), real: bool = False
    ) -> Expression:
        """The expression under `key`, which may also use the names in `more`."""
        return self.as_expression(key, self.raw.get(key, default), more=more, real=real)

    def as_expression(
        self, key: str, value: Any, *, number: bool = True, more: Collection[str] = (), real: bool = False
    ) -> Expression:
        """Parse a value as an expression.

        Args:
            key: For messages.
            value: Text or a number.
            number: Whether the result must be a number; otherwise it may be text, such as a dtype.
            more: Further names that it may use.
            real: Whether the number may be a fraction.
        """
        where = f"{self.where}: {key}"
        if isinstance(value, bool) or not isinstance(value, int | str | (float if real else int)):
            raise UsageError(f"{where}: expected an expression, not {shown(value)}")
        code = expanded(str(value), self.let, where)
        kind = RealExpression if real else Expression
        e = kind(str(value), where, "" if code == str(value) else code, number)
        known = {*self.known, *more}
        for name in sorted(e.names - known):
            names = ", ".join(sorted({*known, *self.let}))
            raise UsageError(f"{e.shown} names '{name}', which is not a parameter; known: {names}")
        self.refuse_other_words(e)
        self.used |= e.names
        self.whole |= set() if real else e.names
        return e

    def refuse_other_words(self, e: Expression | ArrayExpression) -> None:
        """Raise UsageError for a comparison with a word that the parameter cannot have, which is always false."""
        for node in (n for n in ast.walk(e.tree) if isinstance(n, ast.Compare)):
            parts = (node.left, *node.comparators)
            given = [p.value for p in parts if isinstance(p, ast.Constant) and isinstance(p.value, str)]
            for name in (p.id for p in parts if isinstance(p, ast.Name) and p.id in self.words):
                if wrong := [word for word in given if word not in self.words[name]]:
                    allowed = ", ".join(map(str, self.words[name]))
                    raise UsageError(f"{e.shown}: '{wrong[0]}' is not a value of {name}; allowed: {allowed}")

    def optional_expression(self, key: str) -> Expression | None:
        """The expression under `key`; `None` if `key` is missing."""
        return None if self.raw.get(key) is None else self.expression(key)

    def expressions(self, key: str, *, more: Collection[str] = ()) -> tuple[Expression, ...]:
        """The expression, or the list of one to three, under `key`."""
        value = self.raw.get(key)
        values = value if isinstance(value, list) else [value]
        if not 1 <= len(values) <= 3:
            raise UsageError(f"{self.where}: {key}: expected 1 to 3 expressions, not {len(values)}")
        return tuple(self.as_expression(key, v, more=more) for v in values)


def macros(d: Reader) -> tuple[tuple[str, Expression], ...]:
    """Read the key `macros`: names of upper-cased parameters (SCALAR for `dtype`), or `NAME: expression`."""
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


def of_arrays(texts: Mapping[str, str], arrays: Collection[str], where: str) -> dict[str, str]:
    """The definitions of `let` that use arrays or functions of arrays, which only references may use."""
    trees = {name: parse(text, f"{where}.{name}") for name, text in texts.items()}
    functions = {k for k in ArrayExpression.TABLE if isinstance(k, str)} - set(Expression.TABLE)
    found = {name for name, tree in trees.items() if called(tree) & functions or named(tree) & set(arrays)}
    while more := {name for name, tree in trees.items() if named(tree) & found} - found:
        found |= more
    return {name: text for name, text in texts.items() if name in found}


def _with_helpers(d: Reader, key: str, text: str) -> ArrayExpression:
    """An array expression with the definitions that it needs, in topological order."""
    helpers: dict[str, Expression | ArrayExpression] = {}

    def add(e: ArrayExpression, within: tuple[str, ...]) -> None:
        for name in sorted(e.names):
            if name in within:
                raise UsageError(f"{d.where}: let: '{name}' is defined by itself")
            if name in helpers or name not in (*d.helpers, *d.let):
                continue
            if name in d.let:
                helpers[name] = d.as_expression(f"let.{name}", d.let[name])
            else:
                definition = ArrayExpression(d.helpers[name], f"{d.where}: let.{name}")
                add(definition, (*within, name))
                helpers[name] = definition

    found = ArrayExpression(text, f"{d.where}: {key}")
    add(found, ())
    return dataclasses.replace(found, helpers=tuple(helpers.items()))


def function(d: Reader, name: str) -> FunctionName:
    """Read the key `function`, split at parameters among template arguments or the types of an overload.

    Without the key the function is `name`; it is empty if that is.
    """
    text = d.text("function", name).strip()
    if not text and "function" not in d.raw:
        return ()
    named = re.fullmatch(
        r"((?:::)?[A-Za-z_]\w*(?:::[A-Za-z_]\w*)*) *((?:<[^;{}#\"\n]*>)? *(?:\([^;{}#\"\n]*\))?)", text, re.ASCII
    )
    if not named or any(text.count(a) != text.count(b) for a, b in ("()", "[]")):
        raise UsageError(
            f"{d.where}: function: {shown(text)} is not the name of a function such as reduce, sums::reduce, "
            f"reduce<SCALAR, 256> or reduce(float*, int)"
        )
    pieces: list[str | Expression] = [named[1]]
    for piece in re.split(r"((?<![\w.:])[A-Za-z_]\w*\b(?!\s*::))", named[2] or ""):
        known = piece in d.known or piece in d.let
        pieces.append(d.as_expression("function", piece, number=False) if known else piece)
    return tuple(filter(None, pieces))


def constraints(d: Reader) -> Iterator[Constraint]:
    """Read the key `constraints`: `condition: reason`, or a list of `{require, reason}`."""
    if isinstance(given := d.raw.get("constraints"), dict):
        level = d.at("constraints", given)
        yield from (Constraint(d.as_expression("constraints", c, real=True), level.text(c)) for c in given)
        return
    for entry in d.each("constraints"):
        entry.exactly("require", "reason")
        yield Constraint(entry.expression("require", real=True), entry.text("reason"))


def one_dimension(d: Reader, parameters: Sequence[Parameter]) -> Iterator[Constraint]:
    """Constrain blocks to one dimension, unless the default has more or an expression uses `block_y` or `block_z`."""
    for p in parameters:
        if p.kind is not Kind.BLOCK:
            continue
        axes = 1 + max(str(p.default).count("x"), *(i for i, a in enumerate("xyz") if f"{p.name}_{a}" in d.used), 0)
        unused = [f"{p.name}_{axis}" for axis in "xyz"[axes:]]
        if unused:
            require = d.as_expression("block", f"{' * '.join(unused)} == 1")
            yield Constraint(
                require, f"the kernel numbers its threads in {'x alone' if axes == 1 else 'x and y alone'}"
            )


def reference(d: Reader, arguments: Sequence[Argument]) -> str | tuple[tuple[str, ArrayExpression], ...]:
    """Read the key `reference`: a dotted path, or an expression per output."""
    arrays = [a for a in arguments if isinstance(a, ArrayArgument)]
    possible = [a.name for a in arrays if a.role in (Role.OUT, Role.INOUT)]
    if "no_output" in d.raw:
        if "reference" in d.raw or possible:
            what = "reference" if "reference" in d.raw else f"the array '{possible[0]}'"
            raise UsageError(f"{d.where}: no_output: there is an output: {what}")
        return ()
    value = d.raw["reference"]
    if isinstance(value, str):
        if not re.fullmatch(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)+", value):
            raise UsageError(f"{d.where}: reference: '{value}' is not a dotted path such as my_references.expected")
        return value
    given = d.at("reference", value)
    if not possible:
        raise UsageError(
            f"{d.where}: arguments: no array has the role out or inout, so there is no result to compare; if the "
            "kernel has no output, write 'no_output: reason' instead of a reference"
        )
    types = {n: d.arrays[n] for n in possible}
    if not all(types.values()):
        return ()  # an unknown dtype, which `require_sound` reports
    lacking = [
        n for a in arrays if a.role is Role.OUT for t in types[a.name][:1] for n in missing(a.name, t, given.raw)
    ]
    allowed = {n for name, dtypes in types.items() for dtype in dtypes for n in (name, *part_types(name, dtype))}
    if not given.raw or lacking or not set(given.raw) <= allowed:
        wanted = [n for a in arrays if a.role is Role.OUT for t in types[a.name][:1] for n in missing(a.name, t, ())]
        raise UsageError(
            f"{given.where}: expected an expression for each of {', '.join(lacking or wanted or possible)}, not for "
            f"{', '.join(map(str, given.raw)) or 'none'}"
        )
    return tuple((str(n), array_expression(d, f"reference.{n}", str(e))) for n, e in given.raw.items())


def undefined_where(d: Reader) -> tuple[tuple[str, ArrayExpression], ...]:
    """Read the key `undefined_where`: by output, a condition that selects the elements not to compare."""
    level = d.at("undefined_where", d.raw.get("undefined_where") or {})
    if level.raw and isinstance(d.raw.get("reference"), str):
        raise UsageError(f"{level.where}: a reference in Python returns ExpectedArray(..., defined=...) instead")
    for name in level.raw:
        if name not in d.raw["reference"]:
            raise UsageError(
                f"{level.where}: '{name}' is not in the reference; allowed: {', '.join(d.raw['reference'])}"
            )
    return tuple((str(n), array_expression(d, f"undefined_where.{n}", str(e))) for n, e in level.raw.items())


def array_names(d: Reader) -> set[str]:
    """The names of arrays and of their parts."""
    return {n for name, types in d.arrays.items() for t in types for n in (name, *part_types(name, t))} | {*d.arrays}


def array_expression(d: Reader, key: str, text: str) -> ArrayExpression:
    """Parse an expression over the arrays, the parameters, and the names of `let`."""
    found = _with_helpers(d, key, text)
    known = {*d.known, *array_names(d)}
    for name in sorted(found.names):
        if name not in known:
            names = ", ".join(sorted({*d.known, *d.arrays, *d.helpers, *d.let}))
            raise UsageError(f"{found.shown} names '{name}', which is neither an array nor a parameter; known: {names}")
        for dtype in d.arrays.get(name, ())[:1]:
            if not dtype.is_whole:
                parts = ", ".join(f"{name}.{part}" for part in dtype.parts)
                raise UsageError(f"{found.shown}: '{name}' is an array of {dtype.name}; name a part of it: {parts}")
    d.refuse_other_words(found)
    d.used |= found.names
    return found


def _words(fill: Fill | OfFields) -> Iterator[str]:
    """The names of fills."""
    if isinstance(fill, OfFields):
        for _, of in fill.fills:
            yield from _words(of)
    elif isinstance(fill, str):
        yield fill


def require_sound(kernel: Kernel) -> None:
    """Check that the parts fit together, so that a wrong name is reported before a case needs it."""
    file = kernel.yaml.name
    words = [p.name for p in kernel.parameters if p.kind is Kind.DTYPE]
    for a in kernel.arguments:
        if isinstance(a, PointerArgument):
            continue
        if kernel.dtype(a.dtype) is None and a.dtype not in words:
            allowed = ", ".join((*DTYPES, *(s.name for s in kernel.structs), *words))
            in_c = {d.c_name: d.name for d in DTYPES.values() if d.c_name not in DTYPES} | DTYPE_ALIASES
            hint = f"; did you mean {in_c[a.dtype]}?" if a.dtype in in_c else ""
            raise UsageError(f"{file}: argument '{a.name}': '{a.dtype}' is not a dtype{hint}; allowed: {allowed}")
    fills = {*FILLS, *(p.name for p in kernel.parameters if p.kind is Kind.CHOICE)}
    if unknown := [(a.name, word) for a in kernel.arrays for word in _words(a.fill) if word not in fills]:
        raise UsageError(
            f"{file}: argument '{unknown[0][0]}': fill: '{unknown[0][1]}' is not a fill; allowed: "
            f"{', '.join((*FILLS, *KINDS))}, an expression, numbers, or a .npy file"
        )
    if not kernel.shuffle:
        return
    # The arrays `in` and `out` show the actual exchange; these parameters determine the expected one.
    where = f"{file}: shuffle"
    if missing := [n for n in ("block", "width", "mask") if kernel.parameter(n) is None]:
        raise UsageError(f"{where}: it needs the parameter '{missing[0]}', which the kernel does not have")
    arrays = {a.name: a for a in kernel.arrays if not a.constant}
    for name in (Role.IN, Role.OUT):
        if name not in arrays or arrays[name].role is not name:
            raise UsageError(f"{where}: the kernel has no array '{name}' of the role '{name}'")
    if len({(a.dtype, tuple(e.text for e in a.shape)) for a in (arrays["in"], arrays["out"])}) > 1:
        raise UsageError(f"{where}: 'in' and 'out' need one dtype and one shape")
