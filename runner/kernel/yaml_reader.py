"""Reads one level of a kernel's YAML: its keys, and the expressions below them.

All functions raise UsageError, which names the file, the key, the offending value and what is allowed.
"""

from __future__ import annotations

import ast
import dataclasses
import difflib
import re
import stat
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from runner.bounds.array_expression import ArrayExpression
from runner.bounds.formula import expanded, parse, shortened
from runner.errors import UsageError
from runner.files.limited_yaml import LOADER, check_yaml
from runner.kernel.arrays import DType, part_types
from runner.kernel.declaration import FunctionName
from runner.kernel.expression import Expression, RealExpression
from runner.kernel.strides import with_strides
from runner.kernel.yaml_keys import MEANT

# Hydra composes a configuration file several times, a millisecond per node each.
MAX_BYTES, MAX_NODES = 2**18, 10_000
MAX_REFERENCES = 24  # ${...} in a file: each may expand to several others, so the expansion grows exponentially
MAX_PARAMETERS = 256  # of a kernel
QUOTE = 'a comma ends a value in [] and {}, so quote it: "ceil_div(size, block)"'
_PARAMETERS = re.compile(r"^parameters:.*(?:\n(?:[ \t#].*)?)*", re.MULTILINE)  # up to the next key


def config_text(path: Path) -> str:
    """The text of a configuration file. Raises UsageError beyond the limits of size, nodes and nesting."""
    where, text = f"{path.parent.name}/{path.name}", _decoded(path)
    try:
        check_yaml(text, MAX_NODES)
    except ValueError as e:
        raise UsageError(f"{where}: invalid YAML: {e}") from None
    if (references := text.count("${")) > MAX_REFERENCES:
        raise UsageError(
            f"{where}: a configuration file can refer to at most {MAX_REFERENCES} values, not {references}"
        )
    return text


def _decoded(path: Path) -> str:
    where = f"{path.parent.name}/{path.name}"
    try:
        if not (path.is_file() or path.is_dir() or stat.S_ISREG(path.stat().st_mode)):  # a FIFO never ends
            raise UsageError(f"{where}: cannot be read: this is not a regular file")
        with path.open("rb") as file:
            content = file.read(MAX_BYTES + 1)
        if len(content) > MAX_BYTES:
            raise UsageError(f"{where}: a configuration file cannot have more than {MAX_BYTES:,} bytes")
        return content.decode()
    except OSError as e:
        raise UsageError(f"{where}: cannot be read: {e.strerror}") from None
    except ValueError as e:
        raise UsageError(f"{where}: invalid YAML: expected UTF-8 text, but {e}") from None


def read_parameters(path: Path) -> Any:
    """The value of the key `parameters` of a configuration file; `None` if it has none. Raises as `read_yaml`.

    The lines of that key alone are parsed, where that is possible: every start of the program reads all kernels.
    """
    if len(blocks := _PARAMETERS.findall(_decoded(path))) == 1:
        with suppress(yaml.YAMLError, ValueError, RecursionError):  # such as an alias of a value above
            check_yaml(blocks[0], MAX_NODES)
            return yaml.load(blocks[0], Loader=LOADER)["parameters"]  # noqa: S506  (a safe one)
    content = read_yaml(path)
    return content.get("parameters") if isinstance(content, dict) else None


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


def require_unique_keys(path: Path) -> None:
    """Raise UsageError for a key that stands twice; `read_yaml` takes the last one, and Hydra stops the whole sweep."""
    waiting = [yaml.compose(config_text(path), Loader=LOADER)]
    while waiting:
        node = waiting.pop()
        if isinstance(node, yaml.MappingNode):
            keys: set[str] = set()
            for key, value in node.value:
                if isinstance(key, yaml.ScalarNode) and key.value in keys:
                    at = f"{path.parent.name}/{path.name}, line {key.start_mark.line + 1}"
                    raise UsageError(f"{at}: invalid YAML: found duplicate key {key.value}")
                keys.add(str(key.value))
                waiting.append(value)
        elif isinstance(node, yaml.SequenceNode):
            waiting += node.value


def require_few_parameters(content: Any, where: str) -> None:
    """Raise UsageError for more than `MAX_PARAMETERS` parameters, which would take too long to compose."""
    parameters = content.get("parameters") if isinstance(content, dict) else None
    if isinstance(parameters, dict) and len(parameters) > MAX_PARAMETERS:
        raise UsageError(f"{where}: parameters: a kernel can have at most {MAX_PARAMETERS}, not {len(parameters):,}")


def shown(value: Any) -> str:
    """A value as YAML writes it, in quotes, and cut to a message's length."""
    text = "null" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
    return f"'{shortened(text, 60)}'"


def near(key: str, allowed: Iterable[str]) -> str:
    """The key that a misspelt one, or a word of another tool, stands for; empty if there is none."""
    allowed = list(allowed)
    if (meant := MEANT.get(key.lower())) in allowed:
        return str(meant)
    return next(iter(difflib.get_close_matches(key, allowed, n=1)), "")


def is_torn(text: Any) -> bool:
    """Whether a text is a part of an expression that YAML has split at a comma."""
    return str(text).count("(") != str(text).count(")")


def _meant_list(value: Any) -> str:
    """The list of x, y, z that people mean by `16x16`, `(a, b)` or `{x: a, y: b}`; empty for anything else."""
    if isinstance(value, dict) and value and set(value) <= set("xyz"):
        return f"[{', '.join(str(value.get(axis, 1)) for axis in 'xyz'[: 1 + max(map('xyz'.index, value))])}]"
    if isinstance(value, str) and re.fullmatch(r"\s*\d+(\s*x\s*\d+){1,2}\s*", value):
        return f"[{', '.join(re.findall(r'[0-9]+', value))}]"
    with suppress(UsageError):
        body = parse(value, "").body if isinstance(value, str) else None
        return f"[{', '.join(map(ast.unparse, body.elts))}]" if isinstance(body, ast.Tuple) else ""
    return ""


@dataclass
class Reader:
    """One level of a YAML: its content, its path for messages, and what it shares with the levels above and below."""

    raw: dict[str, Any]
    where: str
    known: Collection[str] = ()  # names that expressions may use
    counters: Collection[str] = ()  # of the loops around a launch, which its expressions may use, too
    let: Mapping[str, str] = field(default_factory=dict)  # definitions over parameters, by name
    used: set[str] = field(default_factory=set)  # the names in the expressions read so far
    integers: set[str] = field(default_factory=set)  # names in expressions that must give integers
    choices: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)  # the allowed words, by parameter
    arrays: Mapping[str, tuple[DType, ...]] = field(default_factory=dict)  # possible types, by array
    scalars: Collection[str] = ()  # names of numbers among the arguments, which expressions may not use
    helpers: Mapping[str, str] = field(default_factory=dict)  # definitions over arrays, by name
    structs: Mapping[str, DType] = field(default_factory=dict)
    shapes: Mapping[str, Sequence[str]] = field(default_factory=dict)  # the lengths as expressions, by array
    grid: tuple[Expression, ...] = ()  # the default of launches, as is `shared`
    shared: Any = 0
    folder: Path = Path()  # that contains the YAML

    def __post_init__(self) -> None:
        if not isinstance(self.raw, dict):
            raise UsageError(f"{self.where}: expected a mapping (key: value), not {shown(self.raw)}")

    def level(self, key: str, content: Any) -> Reader:
        """The level below `key`, with the given content."""
        return dataclasses.replace(self, raw=content, where=f"{self.where}: {key}")

    def below(self, key: str) -> Reader:
        """The level below `key`; an empty one if `key` is missing."""
        given = self.raw.get(key)
        return self.level(key, {} if given is None else given)

    def each(self, key: str) -> Iterator[Reader]:
        """The entries of a list, each as a level."""
        return (self.level(f"{key}[{i}]", entry) for i, entry in enumerate(self.sequence(key)))

    def section(self, key: str, *required: str) -> Reader | None:
        """The level below `key`, which must have exactly these keys; `None` if `key` is missing."""
        return self.level(key, self.raw[key]).exactly(*required) if key in self.raw else None

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
                if self.raw[key] is None and is_torn(key):
                    raise UsageError(f"{self.where}: {shown(key)} is not a valid key; {QUOTE}")
                hint = f"; did you mean {meant}?" if (meant := near(str(key), allowed)) else ""
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
        value = self.raw.get(key)
        if value is None:
            return []
        if not isinstance(value, list):
            raise UsageError(f"{self.where}: {key}: expected a list, not {shown(value)}")
        return value

    def items(self, key: str) -> list[tuple[Any, Any]]:
        """The keys and values below `key`; empty if `key` is missing."""
        return list(self.below(key).raw.items())

    def expression(self, key: str, default: Any = None, *, real: bool = False) -> Expression:
        """The expression under `key`."""
        return self.as_expression(key, self.raw.get(key, default), real=real)

    def as_expression(self, key: str, value: Any, *, number: bool = True, real: bool = False) -> Expression:
        """Parse a value as an expression; without `number` it may give a word, with `real` a fraction."""
        where = f"{self.where}: {key}"
        if isinstance(value, bool) or not isinstance(value, int | str | (float if real else int)):
            raise UsageError(f"{where}: expected an expression, not {shown(value)}")
        code = expanded(with_strides(str(value), self.shapes, where), self.let, where)
        kind = RealExpression if real else Expression
        e = kind(str(value), where, "" if code == str(value) else code, number)
        known = {*self.known, *self.counters}
        for name in sorted(e.names - known):
            names = ", ".join(sorted({*known, *self.let}))
            raise UsageError(f"{e.shown} names '{name}', which is not a parameter; known: {names}")
        self.refuse_other_words(e)
        self.used |= e.names
        self.integers |= set() if real else e.names
        return e

    def refuse_other_words(self, e: Expression | ArrayExpression) -> None:
        """Raise UsageError for a comparison with a word that the parameter cannot have, which is always false."""
        for node in (n for n in ast.walk(e.tree) if isinstance(n, ast.Compare)):
            parts = (node.left, *node.comparators)
            given = [p.value for p in parts if isinstance(p, ast.Constant) and isinstance(p.value, str)]
            for name in (p.id for p in parts if isinstance(p, ast.Name) and p.id in self.choices):
                if wrong := [word for word in given if word not in self.choices[name]]:
                    allowed = ", ".join(map(str, self.choices[name]))
                    raise UsageError(f"{e.shown}: '{wrong[0]}' is not a value of {name}; allowed: {allowed}")

    def optional_expression(self, key: str) -> Expression | None:
        """The expression under `key`; `None` if `key` is missing."""
        return None if self.raw.get(key) is None else self.expression(key)

    def expressions(self, key: str, most: int = 3) -> tuple[Expression, ...]:
        """The expression, or the list of one to `most`, under `key`."""
        value = self.raw.get(key)
        if meant := _meant_list(value):
            raise UsageError(
                f"{self.where}: {key}: expected an expression or a list, such as {meant}, not {shown(value)}"
            )
        values = value if isinstance(value, list) else [value]
        if isinstance(value, list) and (torn := next(filter(is_torn, value), None)):
            raise UsageError(f"{self.where}: {key}: {shown(torn)} is not a valid expression; {QUOTE}")
        if not 1 <= len(values) <= most:
            raise UsageError(f"{self.where}: {key}: expected 1 to {most} expressions, not {len(values)}")
        return tuple(self.as_expression(key, v) for v in values)

    @property
    def array_names(self) -> set[str]:
        """The names of arrays and of their parts."""
        parts = (part_types(name, dtype) for name, types in self.arrays.items() for dtype in types)
        return {*self.arrays}.union(*parts)

    def array_expression(self, key: str, text: str) -> ArrayExpression:
        """Parse an expression over the arrays, the parameters, and the names of `let`."""
        helpers: dict[str, Expression | ArrayExpression] = {}  # the definitions that it needs, in topological order

        def add(e: ArrayExpression, within: tuple[str, ...]) -> None:
            for name in sorted(e.names):
                if name in within:
                    raise UsageError(f"{self.where}: let: '{name}' is defined by itself")
                if name in self.let and name not in helpers:
                    helpers[name] = self.as_expression(f"let.{name}", self.let[name], real=True)
                elif name in self.helpers and name not in helpers:
                    definition = ArrayExpression(self.helpers[name], f"{self.where}: let.{name}")
                    add(definition, (*within, name))
                    helpers[name] = definition

        found = ArrayExpression(text, f"{self.where}: {key}")
        add(found, ())
        found = dataclasses.replace(found, helpers=tuple(helpers.items()))
        known = {*self.known, *self.array_names}
        for name in sorted(found.names):
            if name not in known:
                names = ", ".join(sorted({*self.known, *self.arrays, *self.helpers, *self.let}))
                passed = f" ('{name}' is an argument: use the parameter that it passes)" * (name in self.scalars)
                raise UsageError(
                    f"{found.shown} names '{name}', which is neither an array nor a parameter{passed}; known: {names}"
                )
            for dtype in self.arrays.get(name, ())[:1]:
                if not dtype.is_whole:
                    parts = ", ".join(f"{name}.{part}" for part in dtype.parts)
                    raise UsageError(f"{found.shown}: '{name}' is an array of {dtype.name}; name a part of it: {parts}")
        self.refuse_other_words(found)
        self.used |= found.names
        return found

    def array_expressions(self, key: str) -> tuple[tuple[str, ArrayExpression], ...]:
        """The expressions over arrays below `key`, by name."""
        return tuple((str(n), self.array_expression(f"{key}.{n}", str(e))) for n, e in self.items(key))

    def function(self, name: str) -> FunctionName:
        """The key `function`, split at parameters among template arguments or the types of an overload.

        Without the key the function is `name`; it is empty if that is.
        """
        text = self.text("function", name).strip()
        if not text and "function" not in self.raw:
            return ()
        named = re.fullmatch(
            r"((?:::)?[A-Za-z_]\w*(?:::[A-Za-z_]\w*)*) *((?:<[^;{}#\"\n]*>)? *(?:\([^;{}#\"\n]*\))?)", text, re.ASCII
        )
        if not named or any(text.count(a) != text.count(b) for a, b in ("()", "[]")):
            raise UsageError(
                f"{self.where}: function: {shown(text)} is not the name of a function such as reduce, sums::reduce, "
                f"reduce<SCALAR, 256> or reduce(float*, int)"
            )
        pieces: list[str | Expression] = [named[1]]
        for piece in re.split(r"((?<![\w.:])[A-Za-z_]\w*\b(?!\s*::))", named[2] or ""):
            known = piece in self.known or piece in self.let
            pieces.append(self.as_expression("function", piece, number=False) if known else piece)
        return tuple(filter(None, pieces))
