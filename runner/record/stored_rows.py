"""The rows of a run folder, one flat dictionary per case, and their tables as CSV and JSON lines."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterable, Mapping
from typing import Any

from runner import columns
from runner.display.text import absent
from runner.errors import UsageError
from runner.files import limited
from runner.kernel.declaration import VOCABULARY
from runner.record.folder import RunFolder

Row = dict[str, Any]
"""A case's columns, own parameters and metrics by name; an empty cell is `None`."""

FINE = frozenset(("ok", "skipped"))


def names(rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """The names of the columns of a table of these rows, in order."""
    parameters: dict[str, None] = {}
    metrics: dict[str, None] = {}
    for row in rows:
        group = parameters  # a row has its parameters first, then its seed, then its results
        for name in row:
            group = metrics if name == "seed" else group
            if name not in columns.BY_NAME:
                group[name] = None
    order = {name: i for i, name in enumerate(VOCABULARY)}
    return columns.table_names(sorted(parameters, key=lambda name: (order.get(name, len(order)), name)), metrics)


def write(folder: RunFolder, rows: list[Row]) -> None:
    """Replace results.csv."""
    folder.write(folder.results, as_csv(rows))


def as_csv(rows: list[Row]) -> str:
    """The table as CSV. Raises `UsageError` if it is too large."""
    order, integers = list(dict.fromkeys(names(rows))), frozenset(columns.of_type("integer"))
    if len(order) > limited.MAX_COLUMNS or len(order) * len(rows) > limited.MAX_CELLS:
        limits = f"{limited.MAX_COLUMNS:,} columns and {limited.MAX_CELLS:,} cells"
        raise UsageError(f"results.csv: {len(rows):,} rows of {len(order):,} columns are too many; allowed: {limits}")

    def cell(name: str, value: Any) -> Any:
        if absent(value) or name not in integers:
            return "" if absent(value) else value
        try:
            return int(value)
        except (TypeError, ValueError, OverflowError):
            raise UsageError(f"{name}={value!r:.60}: no whole number; a row in the run's folder is damaged") from None

    target = io.StringIO()
    writer = csv.writer(target, lineterminator="\n")
    writer.writerow(order)
    writer.writerows([cell(name, row.get(name)) for name in order] for row in rows)
    return target.getvalue()


def as_json_lines(rows: list[Row]) -> str:
    """The rows as JSON lines, each with all columns; empty cells and NaN are null."""
    order = names(rows)

    def plain(value: Any) -> Any:
        return None if value == "" or (isinstance(value, float) and not math.isfinite(value)) else value

    return "".join(json.dumps({name: plain(row.get(name)) for name in order}, allow_nan=False) + "\n" for row in rows)


def collect(folder: RunFolder) -> list[Row]:
    """The rows of a folder in the order of its jobs. A planned case without a row is `not_run`.

    Raises UsageError if a row is damaged, since the table would lose the one that it has.
    """
    rows: dict[tuple[str, ...], Row] = {}
    for number in folder.jobs():
        case = folder.record(number)
        if case is not None and "same_as" not in case:
            row = folder.row(number)
            if row is None and folder.json(folder.result(number)) is not None:
                again = f"python -m runner resume {folder.path} measures the case again"
                raise UsageError(f"{folder.result(number)}: is damaged; {again}")
            rows.setdefault(tuple(case["run"]), row or case["row"])
    return list(rows.values())


def exit_status(rows: Iterable[Mapping[str, Any]]) -> int:
    """The exit status of a sweep: 0 all cases ok or skipped, 1 a case failed, 2 every case skipped."""
    statuses = {row["status"] for row in rows}
    if statuses <= {"skipped"}:
        return 2
    return 0 if statuses <= FINE else 1
