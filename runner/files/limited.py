"""Read untrusted JSON and CSV within limits of size, nodes, nesting and digits.

The limits are far above what the runner writes, and low enough that reading costs seconds and megabytes at most. A text
that exceeds one raises `TooMuch` before memory is spent on it. For YAML see `runner.files.limited_yaml`.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator
from typing import Any

MAX_NODES = 6_000_000  # values of a JSON text: enough for the plan of 250,000 cases
MAX_LEVELS = 64  # levels of nesting
MAX_DIGITS = 100  # characters of a number
MAX_ROWS = 250_000  # of a table; also the limit for the jobs of a sweep
MAX_COLUMNS = 1000
MAX_CELLS = 25_000_000

STRIDE = 20  # every so many characters are looked at: a number with more digits than allowed shows in several in a row
_MANY_DIGITS = re.compile(rf"[0-9]{{{(MAX_DIGITS + 1) // STRIDE}}}")


class TooMuch(ValueError):
    """A text exceeds a limit; the message says which: `more than 100,000 values`."""


def load_json(text: str) -> Any:
    """Read JSON.

    Raises:
        ValueError: The text is malformed, or exceeds a limit (`TooMuch`).
    """
    opened = text.count("{") + text.count("[")
    if opened + text.count(",") > MAX_NODES:
        raise TooMuch(f"has more than {MAX_NODES:,} values")
    try:
        content = _CAREFUL.decode(text) if _MANY_DIGITS.search(text[::STRIDE]) else json.loads(text)
    except RecursionError:
        raise TooMuch(f"is nested more than {MAX_LEVELS} levels deep") from None
    if opened > MAX_LEVELS:  # otherwise it is shallow enough
        _require_shallow(content)
    return content


def _require_shallow(content: Any) -> None:
    level = [content]
    for _ in range(MAX_LEVELS):
        inner = (node.values() if isinstance(node, dict) else node for node in level if isinstance(node, dict | list))
        level = [child for children in inner for child in children if isinstance(child, dict | list)]
    if level:
        raise TooMuch(f"is nested more than {MAX_LEVELS} levels deep")


def _integer(text: str) -> int:
    if len(text) > MAX_DIGITS:
        raise TooMuch(f"contains a number with {len(text):,} digits")
    return int(text)


_CAREFUL = json.JSONDecoder(parse_int=_integer)  # three times as slow as the default


def read_csv(content: bytes) -> Iterator[list[str]]:
    """Read the lines of a table, each a list of cells, without empty lines.

    Raises:
        ValueError: The content is not UTF-8, or exceeds a limit (`TooMuch`).
        csv.Error: The content is malformed.
    """
    cells = 0
    lines = csv.reader(io.TextIOWrapper(io.BytesIO(content), "utf-8", newline=""), strict=True)
    for number, line in enumerate(filter(None, lines)):
        cells += len(line)
        if len(line) > MAX_COLUMNS:
            raise TooMuch(f"has more than {MAX_COLUMNS:,} columns")
        if number > MAX_ROWS:
            raise TooMuch(f"has more than {MAX_ROWS:,} rows")
        if cells > MAX_CELLS:
            raise TooMuch(f"has more than {MAX_CELLS:,} cells")
        yield line
