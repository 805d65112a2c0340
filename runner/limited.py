"""Read JSON, YAML and CSV that somebody else wrote: within limits of size, nodes, nesting and digits.

The limits are far above what the runner writes, and low enough that a file costs seconds and megabytes at most. What
exceeds one raises `TooMuch`, a `ValueError`, before memory is spent on it.
"""

from __future__ import annotations

import contextlib
import csv
import io
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import yaml

MOST_NODES = 6_000_000  # of a JSON text: the plan of 250,000 cases
MOST_YAML_NODES = 100_000  # where each alias counts as what it stands for
MOST_YAML = 2**20  # characters
DEEPEST = 64  # levels of nesting
MOST_DIGITS = 100  # characters of a number
MOST_ROWS = 250_000  # of a table; also the most jobs of a sweep
MOST_COLUMNS = 1000
MOST_CELLS = 25_000_000

LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # the one in C takes a tenth of the time
_MANY_DIGITS = re.compile(rf"[0-9]{{{MOST_DIGITS + 1}}}")
_NUMBER = re.compile(r"[-+]?(0x[0-9a-fA-F_]*|[0-9_:.]+)")


class TooMuch(ValueError):
    """A text exceeds a limit; the message says which: `more than 100,000 values`."""


def load_json(text: str) -> Any:
    """Read JSON; a `ValueError` if it is malformed or exceeds a limit."""
    opened = text.count("{") + text.count("[")
    if opened + text.count(",") > MOST_NODES:
        raise TooMuch(f"more than {MOST_NODES:,} values")
    try:
        content = _CAREFUL.decode(text) if _MANY_DIGITS.search(text) else json.loads(text)
    except RecursionError:
        raise TooMuch(f"nested more than {DEEPEST} deep") from None
    if opened > DEEPEST:  # else it cannot be nested deeper
        _require_shallow(content)
    return content


def _require_shallow(content: Any) -> None:
    level = [content]
    for _ in range(DEEPEST):
        inner = (node.values() if isinstance(node, dict) else node for node in level if isinstance(node, dict | list))
        level = [child for children in inner for child in children if isinstance(child, dict | list)]
    if level:
        raise TooMuch(f"nested more than {DEEPEST} deep")


def _integer(text: str) -> int:
    if len(text) > MOST_DIGITS:
        raise TooMuch(f"a number of {len(text):,} digits")
    return int(text)


_CAREFUL = json.JSONDecoder(parse_int=_integer)  # takes three times as long


def load_yaml(text: str, loader: Any = LOADER) -> Any:
    """Read one YAML document, by a loader that makes plain values.

    Raises:
        TooMuch: if it exceeds a limit.
        yaml.YAMLError: if it is malformed.
    """
    check_yaml(text)
    return yaml.load(text, Loader=loader)  # noqa: S506  (a safe one)


def check_yaml(text: str, most: int = MOST_YAML_NODES) -> None:
    """Raise `TooMuch` if a YAML exceeds a limit. The time grows with the text alone, whatever its aliases stand for.

    A malformed text passes up to its first error: a loader makes nothing of it.
    """
    if len(text) > MOST_YAML:
        raise TooMuch(f"more than {MOST_YAML:,} characters")
    for loader in (LOADER, yaml.SafeLoader):  # the parser in C refuses some texts that the other one takes
        with contextlib.suppress(yaml.YAMLError):
            _count(yaml.parse(text, Loader=loader), most)
            break


@dataclass
class _Open:
    """A collection that has not ended yet."""

    anchor: str | None
    before: int  # nodes ahead of it
    height: int = 0  # of what stands in it so far


def _count(events: Iterator[Any], most: int) -> None:
    """Count the nodes of a YAML, each alias as what it stands for."""
    count, above = 0, [_Open(None, 0)]
    known: dict[str | None, tuple[int, int]] = {}  # by anchor: nodes and height
    for event in events:
        if isinstance(event, yaml.CollectionStartEvent):
            above.append(_Open(event.anchor, count))
            count += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            ended = above.pop()
            known[ended.anchor] = count - ended.before, ended.height + 1
            above[-1].height = max(above[-1].height, ended.height + 1)
        elif isinstance(event, yaml.NodeEvent):
            nodes, height = _leaf(event, known, above)
            count += nodes
            above[-1].height = max(above[-1].height, height)
        if count > most:
            raise TooMuch(f"more than {most:,} values, where each alias counts as what it stands for")
        if len(above) - 1 + above[-1].height > DEEPEST:
            raise TooMuch(f"nested more than {DEEPEST} deep")


def _leaf(event: Any, known: dict[str | None, tuple[int, int]], above: Sequence[_Open]) -> tuple[int, int]:
    """The nodes and the height of a scalar, or of what an alias stands for."""
    if isinstance(event, yaml.AliasEvent):
        if any(one.anchor == event.anchor for one in above):
            raise TooMuch(f"*{event.anchor} stands within what it names")
        return known.get(event.anchor, (1, 0))
    may_be_number = event.implicit[0] or event.tag
    if may_be_number and len(event.value) > MOST_DIGITS and _NUMBER.fullmatch(event.value):
        raise TooMuch(f"a number of {len(event.value):,} digits")
    known[event.anchor] = 1, 0
    return 1, 0


def read_csv(content: bytes) -> Iterator[list[str]]:
    """The lines of a table, without empty ones.

    Raises:
        ValueError: if it is not UTF-8, or exceeds a limit.
        csv.Error: if it is no table.
    """
    cells = 0
    lines = csv.reader(io.TextIOWrapper(io.BytesIO(content), "utf-8", newline=""), strict=True)
    for number, line in enumerate(filter(None, lines)):
        cells += len(line)
        if len(line) > MOST_COLUMNS:
            raise TooMuch(f"more than {MOST_COLUMNS:,} columns")
        if number > MOST_ROWS:
            raise TooMuch(f"more than {MOST_ROWS:,} rows")
        if cells > MOST_CELLS:
            raise TooMuch(f"more than {MOST_CELLS:,} cells")
        yield line
