"""What became of the cases, as a grid: where a run has cases that are not ok and the grid is small. Pure: no drawing.

Kernels stand below one another, the values of what varies within a kernel beside one another; where that is too wide,
the first of these go down as well.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import pandas as pd

from runner.report.table import records, varying
from runner.report.text import absent, count, described, listed, one_line, value_of
from runner.report.verdict import IDLE

MOST_COLUMNS, MOST_ROWS, MOST_REASONS = 12, 20, 8

Row = dict[str, Any]


@dataclass(frozen=True)
class Outcome:
    """A cell: its words, which of the reasons it has (0 for none), and `good`, `bad`, `idle` or `mixed`."""

    words: str
    reason: int
    kind: str


@dataclass(frozen=True)
class GridPlot:
    """One figure.

    Attributes:
        stem: the file's name without its ending.
        title: what is shown.
        notes: how many cases came to what.
        down: a name for each row.
        across: the parameters across, and what their combinations are called.
        columns: a name for each column.
        cells: by row and column; None where there is no such case.
        reasons: each distinct one with its status, its first line only.
        more: further reasons that are not told.
    """

    stem: str
    title: str
    notes: str
    down: tuple[str, ...]
    across: str
    columns: tuple[str, ...]
    cells: tuple[tuple[Outcome | None, ...], ...]
    reasons: tuple[str, ...]
    more: int

    @property
    def place(self) -> Literal["problems"]:
        """The part of the page that it belongs to."""
        return "problems"

    @property
    def emulated(self) -> bool:
        """No: there are no times in it."""
        return False

    @property
    def reading(self) -> str:
        """The figure in words, for those who cannot see it."""
        told = [
            f"{row}{f', {column}' if column else ''}: {cell.words}"
            for row, cells in zip(self.down, self.cells, strict=True)
            for column, cell in zip(self.columns, cells, strict=True)
            if cell
        ]
        return f"{'; '.join(told)}. {self.notes}"


def grid_plots(frame: pd.DataFrame) -> list[GridPlot]:
    """The grid of a run, if some case is not ok and there are cases to compare."""
    rows = records(frame)
    if len(rows) < 2 or all(row["status"] == "ok" for row in rows):
        return []
    names = [name for name in varying(frame) if name != "kernel" and _varies_within(name, rows)]
    for split in range(len(names) + 1):
        down, across = names[:split], names[split:]
        keys = list(dict.fromkeys(_key(row, across) for row in rows))
        lines = list(dict.fromkeys(_key(row, ["kernel", *down]) for row in rows))
        if len(keys) <= MOST_COLUMNS and len(lines) <= MOST_ROWS:
            return [_plot(rows, down, across)]
    return []


def _varies_within(name: str, rows: list[Row]) -> bool:
    """Whether a parameter has several values among the cases of one kernel."""
    values: dict[str, set[str]] = {}
    for row in rows:
        if value := value_of(name, row):
            values.setdefault(row["kernel"], set()).add(value)
    return any(len(found) > 1 for found in values.values())


def _key(row: Row, names: list[str]) -> tuple[str, ...]:
    return tuple(value_of(name, row) for name in names)


def _plot(rows: list[Row], down: list[str], across: list[str]) -> GridPlot:
    reasons = list(dict.fromkeys(_reason(row) for row in rows if row["status"] != "ok"))
    columns = sorted({_key(row, across): row for row in rows}.items(), key=lambda item: _order(item[1], across))
    lines = list({_key(row, ["kernel", *down]): row for row in reversed(rows)}.items())[::-1]
    cells = [
        tuple(
            _outcome([r for r in rows if _key(r, ["kernel", *down]) == line and _key(r, across) == column], reasons)
            for column, _ in columns
        )
        for line, _ in lines
    ]
    statuses = [str(row["status"]).replace("_", " ") for row in rows]
    told = [f"{statuses.count(status):,} {status}" for status in dict.fromkeys(sorted(statuses, key="ok".__ne__))]
    return GridPlot(
        stem="statuses",
        title="What became of the cases",
        notes=f"{count(len(rows), 'case')}: {listed(told)}.",
        down=tuple(described(row, ["kernel", *down]) for _, row in lines),
        across=", ".join(across),
        columns=tuple(", ".join(one_line(value, 14) or "–" for value in column) for column, _ in columns),  # noqa: RUF001
        cells=tuple(cells),
        reasons=tuple(reasons[:MOST_REASONS]),
        more=max(0, len(reasons) - MOST_REASONS),
    )


def _order(row: Row, names: list[str]) -> list[tuple[int, float, str]]:
    """Numbers by value, words by letter, what is absent first."""
    order = []
    for name in names:
        value = row[name]
        if absent(value):
            order.append((0, 0.0, ""))
        elif isinstance(value, int | float) or str(value).isdecimal():
            order.append((1, float(value), ""))
        else:
            order.append((2, 0.0, str(value)))
    return order


def _outcome(rows: list[Row], reasons: list[str]) -> Outcome | None:
    if not rows:
        return None
    statuses = [str(row["status"]) for row in rows]
    kinds = {"good" if s == "ok" else "idle" if s in IDLE else "bad" for s in statuses}
    several = len(set(statuses)) > 1
    words = [f"{statuses.count(s)} {s}" if several else s for s in dict.fromkeys(statuses)]
    told = [reasons.index(_reason(row)) + 1 for row in rows if row["status"] != "ok"]
    number = told[0] if told and len(set(told)) == 1 and told[0] <= MOST_REASONS else 0
    return Outcome(", ".join(words).replace("_", " "), number, kinds.pop() if len(kinds) == 1 else "mixed")


def _reason(row: Row) -> str:
    """Its first line, with the status that it explains."""
    lines = [line for line in str(row["reason"]).splitlines() if line.strip()]
    return f"{str(row['status']).replace('_', ' ')}: {one_line(lines[0], 400) if lines else 'no reason was recorded'}"
