"""Reads the key `launches` of a kernel's YAML: the launches of a program of several, and their loops."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import Any

from runner.errors import UsageError
from runner.kernel.declaration import ArrayArgument, Loop, Step
from runner.kernel.expression import Expression
from runner.kernel.yaml_reader import Argument, Reader, function, shown


def loop_names(entries: Any) -> set[str]:
    """The names that loops of `launches` count with, before these are read."""
    inner = [e for e in entries if isinstance(e, dict)] if isinstance(entries, list) else []
    own = {str(name) for e in inner if isinstance(e.get("for"), dict) for name in e["for"]}
    return own.union(*(loop_names(e.get("launches")) for e in inner))


def launches(d: Reader, arguments: Sequence[Argument], within: Collection[str] = ()) -> tuple[Step | Loop, ...]:
    """The key `launches`; `within` are the names of the loops around it."""
    return tuple(_step(entry, arguments, within) for entry in d.each("launches"))


def _step(d: Reader, arguments: Sequence[Argument], within: Collection[str]) -> Step | Loop:
    d.only(("for", "launches", "function", "arguments", "grid", "block", "shared"))
    if "for" in d.raw:
        counts: list[tuple[str, Expression]] = []
        level = d.at("for", d.raw["for"])
        for name, end in level.raw.items():
            if not re.fullmatch(r"[a-z][a-z0-9_]{0,31}", str(name)) or name in (*within, *(n for n, _ in counts)):
                raise UsageError(
                    f"{level.where}: {shown(name)} is not a new name; allowed: a-z, 0-9 and _, a letter first"
                )
            counts.append((name, level.as_expression(name, end, more=(*within, *(n for n, _ in counts)))))
        inner = (*within, *(n for n, _ in counts))
        if "launches" not in d.raw:
            rest = Reader({key: value for key, value in d.raw.items() if key != "for"}, d.where, d)
            return Loop(tuple(counts), (_step(rest, arguments, inner),))
        d.only(("for", "launches"))
        return Loop(tuple(counts), launches(d, arguments, inner))
    d.only(("function", "arguments", "grid", "block", "shared"))
    passed = [a.name for a in arguments if not isinstance(a, ArrayArgument) or (a.passed and not a.constant)]
    given = [str(name) for name in d.sequence("arguments")] or passed
    if unknown := [name for name in given if name not in passed]:
        raise UsageError(f"{d.where}: arguments: '{unknown[0]}' is not an argument; allowed: {', '.join(passed)}")
    if "grid" not in d.raw and not d.grid:
        raise UsageError(f"{d.where}: the key 'grid' is missing")
    grid = d.expressions("grid", more=within) if "grid" in d.raw else d.grid
    block = d.expressions("block", more=within) if "block" in d.raw else ()
    return Step(function(d, ""), tuple(given), grid, block, d.expression("shared", d.shared, more=within))
