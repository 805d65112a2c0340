"""Reads `parameters:` in a kernel's YAML: names, kinds, defaults (values or expressions) and allowed values."""

from __future__ import annotations

import dataclasses
import keyword
import re
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from typing import Any

from runner.bounds.formula import named, parse
from runner.columns import BY_NAME, RESERVED
from runner.errors import UsageError
from runner.kernel import yaml_keys
from runner.kernel.computed import WHOLE, settle
from runner.kernel.declaration import NEUTRAL, VOCABULARY, Constraint, Kind, Parameter, canonical, variables
from runner.kernel.expression import FUNCTIONS
from runner.kernel.yaml_keys import NAME, PARTS
from runner.kernel.yaml_reader import QUOTE, Reader, is_torn, shown

# Values of the parameter `cache`: a preferred split of on-chip memory (cudaFuncSetCacheConfig), or the percentage of
# shared memory (cudaFuncAttributePreferredSharedMemoryCarveout).
CACHES = ("none", "shared", "l1", "equal", "0", "25", "50", "75", "100")
NOT_COMPUTED = (Kind.DTYPE, Kind.CHOICE, Kind.OPTIONS)  # kinds whose values are words
GRID = frozenset(("grid", "grid_x", "grid_y", "grid_z"))  # names of what follows from the parameters
WORDS = ("true", "false", "null", "inf", "nan")  # which YAML, Hydra and fills read as values
_ITEMS = {Kind.BLOCK: 3, Kind.SIZE: 2}  # the longest list of expressions


def read(d: Reader) -> tuple[Parameter, ...]:
    """Read the key `parameters`, and add those that every kernel has.

    Defaults that are expressions are read by `read_expressions`, once all names are known.
    """
    where, known = f"{d.where}: parameters", _own_names(d)
    for name, _ in d.items("parameters"):
        require_parameter_name(where, name)
    parameters = tuple(_parameter(where, name, content, known) for name, content in d.items("parameters"))
    _require_distinct(where, parameters)
    declared = {p.name for p in parameters}
    added = (Parameter(n, VOCABULARY[n], v, CACHES if n == "cache" else ()) for n, v in NEUTRAL.items())
    return (*parameters, *(p for p in added if p.name not in declared))


def read_expressions(d: Reader, parameters: Sequence[Parameter]) -> tuple[Parameter, ...]:
    """Read the defaults that are expressions over other parameters. Raises UsageError if one is invalid."""
    level, entries = dataclasses.replace(d, known=frozenset(d.known) - GRID), dict(d.items("parameters"))
    known = _own_names(d)

    def with_expressions(p: Parameter) -> Parameter:
        content = entries.get(p.name)
        given = content.get("default") if isinstance(content, dict) else content
        if p.name not in entries or given in p.allowed or not _is_computed(given, p, known):
            return p
        texts = given if isinstance(given, list) else [given]
        key = f"parameters.{p.name}"
        return dataclasses.replace(p, computed=tuple(level.as_expression(key, t, real=True) for t in texts))

    return tuple(map(with_expressions, parameters))


def with_integers(parameters: Sequence[Parameter], needed: Collection[str]) -> tuple[Parameter, ...]:
    """Make a number an integer if an expression needs it as one, or computes an integer from it.

    Args:
        parameters: Those of a kernel.
        needed: The names in expressions that must give integers.
    """
    needed = frozenset(needed)
    while more := {n for p in parameters if p.kind in WHOLE or p.name in needed for n in p.needs} - needed:
        needed |= more
    numbers = {p.name for p in parameters if p.kind is Kind.NUMBER}
    return tuple(dataclasses.replace(p, kind=Kind.INTEGER) if p.name in numbers & needed else p for p in parameters)


def compute_defaults(where: str, parameters: Sequence[Parameter]) -> tuple[Parameter, ...]:
    """Compute the defaults that are expressions from the other defaults.

    Raises UsageError if an expression needs itself, or gives a value that its parameter cannot have.
    """
    values, _ = settle(parameters, {})
    found = tuple(dataclasses.replace(p, default=values[p.name]) for p in parameters)
    for p in found:
        if p.allowed and p.default not in p.allowed:
            raise UsageError(f"{where}: parameters.{p.name}: the default {p.default} is not one of the allowed values")
    return found


def names(parameters: Sequence[Parameter]) -> frozenset[str]:
    """The names that any expression may use: parameters, their parts, and the grid."""
    return GRID.union(*(variables(p.name, p.kind, 1) for p in parameters))


def require_name(where: str, name: Any) -> None:
    """Raise UsageError for a name that no expression could use."""
    if not isinstance(name, str) or not re.fullmatch(NAME, name):
        allowed = "allowed: up to 32 letters, digits and _, starting with a letter"
        allowed += "; in YAML, on, off, yes and no need quotes" if isinstance(name, bool) else ""
        raise UsageError(f"{where}: {shown(name)} is not a valid name; {QUOTE if is_torn(name) else allowed}")
    if keyword.iskeyword(name) or name in FUNCTIONS or name in WORDS:
        raise UsageError(f"{where}: '{name}' is a keyword or a function of expressions; choose another name")


def require_parameter_name(where: str, name: Any) -> None:
    """Raise UsageError for the name of a parameter that has another meaning, up to the case of its letters."""
    require_name(where, name)
    lower = name.lower()
    if lower in RESERVED - set(PARTS):
        column = BY_NAME.get(lower)
        meaning = f"the column of results.csv '{lower}'" if column else f"'{lower}' of the configuration"
        how = "is reserved for" if name == lower else "differs only by case from"
        raise UsageError(f"{where}: '{name}' {how} {meaning}; choose another name")
    if name != lower and lower in (*VOCABULARY, *PARTS):
        raise UsageError(f"{where}: '{name}' differs only by case from the parameter '{lower}'; write {lower}")


def block_dimensions(d: Reader, parameters: Sequence[Parameter]) -> Iterator[Constraint]:
    """Constrain blocks to one dimension, unless the default has more or an expression uses `block_y` or `block_z`."""
    for p in parameters:
        if p.kind is not Kind.BLOCK:
            continue
        own = max(str(p.default).count("x"), len(p.computed) - 1)
        axes = 1 + max(own, *(i for i, a in enumerate("xyz") if f"{p.name}_{a}" in d.used), 0)
        if unused := [f"{p.name}_{axis}" for axis in "xyz"[axes:]]:
            reason = f"the kernel numbers its threads in {'x alone' if axes == 1 else 'x and y alone'}"
            yield Constraint(d.as_expression("block", f"{' * '.join(unused)} == 1"), reason)


def _require_distinct(where: str, parameters: Sequence[Parameter]) -> None:
    """Raise UsageError for names that differ only by case, and for `rows` and `cols` beside a size."""
    by_lower: dict[str, str] = {}
    for p in parameters:
        if (other := by_lower.setdefault(p.name.lower(), p.name)) != p.name:
            instead = "filters and file names do not tell them apart, so rename one"
            raise UsageError(f"{where}: '{other}' and '{p.name}' differ only by case; {instead}")
    size = next((p.name for p in parameters if p.kind is Kind.SIZE), "")
    if size and (taken := [name for name in PARTS if name in by_lower]):
        raise UsageError(f"{where}: '{taken[0]}' is a part of the parameter '{size}'; choose another name")


def _own_names(d: Reader) -> frozenset[str]:
    """The names of parameters, of what may be their parts, and of `let`, before any of them is read."""
    own = [str(name) for name, _ in d.items("parameters")]
    parts = (f"{name}_{axis}" for name in own for axis in "xyz")
    return frozenset((*own, *parts, *PARTS, *(str(name) for name, _ in d.items("let"))))


def _parameter(where: str, name: Any, content: Any, known: Collection[str]) -> Parameter:
    """Read one entry of `parameters:`; a plain value is its default."""
    d = Reader(content if isinstance(content, dict) else {"default": content}, f"{where}.{name}")
    d.only(yaml_keys.PARAMETER)
    given = d.raw.get("default")
    if given in (None, ""):
        raise UsageError(
            f"{d.where}: a default value is missing (a reference ${{...}} to a value that is not set gives none)"
        )
    if d.raw.get("allowed") == []:
        raise UsageError(f"{d.where}: allowed: expected at least one value")
    own = Kind(d.choice("kind", [k for k in Kind if k is not Kind.OPTIONS])) if "kind" in d.raw else None
    kind = VOCABULARY.get(name) or (Kind.INTEGER if name in PARTS else own)
    declared = Parameter(name, kind or Kind.NUMBER, 0)
    if isinstance(given, list) and kind is not Kind.OPTIONS and not _is_computed(given, declared, known):
        values = ", ".join(map(str, given))
        shape = f", or {'x'.join(map(str, given))} for a shape" if kind in _ITEMS else ""
        example = f"{{default: {given[0]}, allowed: [{values}]}}" if given else "one value"
        raise UsageError(f"{d.where}: expected a default, not [{values}]; write {example}{shape}")
    if not _is_computed(given, declared, known) or given in d.sequence("allowed"):
        return _constant(d, name, kind or _kind(d))
    allowed = tuple(canonical(f"{d.where}.allowed", declared.kind, v) for v in d.sequence("allowed"))
    return dataclasses.replace(declared, default="1" if declared.kind is Kind.BLOCK else 1, allowed=allowed)


def _constant(d: Reader, name: str, kind: Kind) -> Parameter:
    allowed = tuple(canonical(f"{d.where}.allowed", kind, v) for v in d.sequence("allowed"))
    default = canonical(f"{d.where}.default", kind, d.raw["default"])
    if name == "cache":
        if unknown := [c for c in (default, *allowed) if c not in CACHES]:
            raise UsageError(
                f"{d.where}: '{unknown[0]}' is not a cache preference; allowed: {', '.join(CACHES)}; every kernel has "
                "the parameter 'cache', so one of your own needs another name"
            )
        allowed = allowed or CACHES
    if allowed and default not in allowed:
        raise UsageError(f"{d.where}: the default {default} is not one of the allowed values")
    return Parameter(name, kind, default, allowed)


def _is_computed(given: Any, p: Parameter, known: Collection[str]) -> bool:
    """Whether a default is an expression over other parameters, not a value of its kind."""
    if p.kind in NOT_COMPUTED:
        return False
    if isinstance(given, list):
        return 1 <= len(given) <= _ITEMS.get(p.kind, 0) and any(_uses(text, known) for text in given)
    with suppress(UsageError):
        canonical(p.name, p.kind, given)
        return False
    return _uses(given, known)


def _uses(text: Any, known: Collection[str]) -> bool:
    """Whether a text is an expression with one of the names."""
    with suppress(UsageError):
        return isinstance(text, str) and not named(parse(text, "")).isdisjoint(known)
    return False


def _kind(d: Reader) -> Kind:
    """Derive the kind of a parameter without the key `kind` from its values."""
    values = [d.raw["default"], *d.sequence("allowed")]
    if all(isinstance(v, bool) for v in values):
        return Kind.BOOLEAN
    try:
        numbers = [canonical(d.where, Kind.NUMBER, v) for v in values]
    except UsageError:
        if len(values) > 1:
            return Kind.CHOICE
        raise UsageError(
            f"{d.where}: {shown(values[0])} is neither a number nor true or false; a parameter whose values "
            "are words must list them under 'allowed'"
        ) from None
    if any(isinstance(n, float) for n in numbers):
        return Kind.REAL
    return Kind.INTEGER if len(numbers) > 1 else Kind.NUMBER
