"""Reading what docs/ladder.md is made of: tables, environments, a YAML; or one sentence about what is wrong there."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

Row = dict[str, Any]


def rows(path: Path, needed: Sequence[str], numbers: Sequence[str]) -> list[Row]:
    """The rows of a CSV, one at least.

    Args:
        path: Of the file; sentences have its name only.
        needed: Columns that must be there.
        numbers: Columns that become numbers: `None` where a cell is empty, or an older table has no such column.

    Raises:
        ValueError: if the file is missing, torn or empty, or is no such table; one sentence.
    """
    content = _content(path)
    reader = csv.reader(io.StringIO(content, newline=""))
    try:
        head = next(reader, [])
        lines = [(reader.line_num, cells) for cells in reader]
    except csv.Error as e:
        raise ValueError(f"{path.name}: line {reader.line_num}: {e}") from None
    if missing := [name for name in needed if name not in head]:
        raise ValueError(f"{path.name}: there is no column '{missing[0]}'")
    if not lines:
        raise ValueError(f"{path.name}: there is no line below the names of the columns")
    for at, cells in lines:
        if len(cells) != len(head):
            raise ValueError(f"{path.name}: line {at} has {len(cells)} of {len(head)} columns")
    if not content.endswith("\n"):
        raise ValueError(f"{path.name}: line {lines[-1][0]} is cut off: it has no end")
    return [_typed(f"{path.name}: line {at}", dict(zip(head, cells, strict=True)), numbers) for at, cells in lines]


def _typed(where: str, row: dict[str, str], numbers: Sequence[str]) -> Row:
    return {**row, **{n: _number(f"{where}: {n}", row[n]) if row.get(n) else None for n in numbers}}


def _number(where: str, text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not (math.isfinite(number) and number >= 0):
        raise ValueError(f"{where}: a number from 0 on is expected, not '{text}'")
    return number


def environment(path: Path, needed: Sequence[str]) -> dict[str, Any]:
    """An environment.json of a sweep on a GPU.

    Args:
        path: Of the file; sentences have its name only.
        needed: What must be known of the GPU: numbers above 0.

    Raises:
        ValueError: if the file is missing or torn, or of a sweep on the CPU device; one sentence.
    """
    content = _content(path)
    try:
        found = json.loads(content)
    except (ValueError, RecursionError) as e:
        raise ValueError(f"{path.name}: no JSON: {e}") from None
    devices = found.get("devices") if isinstance(found, dict) else None
    device = devices.get("cuda") if isinstance(devices, dict) else None
    if not isinstance(device, dict):
        raise ValueError(f"{path.name}: there is no devices.cuda: this is no sweep on a GPU")  # noqa: TRY004
    for name in needed:
        value = device.get(name)
        if not isinstance(value, int | float) or not 0 < value < math.inf:
            raise ValueError(f"{path.name}: devices.cuda.{name}: a number above 0 is expected, not '{value}'")
    return found  # type: ignore[no-any-return]


def of_yaml(path: Path) -> Any:
    """What a YAML holds.

    Raises:
        ValueError: if the file is missing or torn; one sentence.
    """
    try:
        return yaml.safe_load(_content(path))
    except yaml.MarkedYAMLError as e:
        at = f"line {e.problem_mark.line + 1}: " if e.problem_mark else ""
        raise ValueError(f"{path.name}: {at}{e.problem}") from None
    except yaml.YAMLError as e:
        raise ValueError(f"{path.name}: {' '.join(str(e).split())}") from None


def _content(path: Path) -> str:
    try:
        content = path.read_bytes().decode()
    except OSError as e:
        raise ValueError(f"{path.name}: {e.strerror}") from None
    except UnicodeDecodeError as e:
        raise ValueError(f"{path.name}: no UTF-8 text: {e.reason}") from None
    if not content.strip():
        raise ValueError(f"{path.name}: the file is empty")
    return content
