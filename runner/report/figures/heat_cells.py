"""The cells of a heat map: the fastest case of each pair of values, or why there is none. Pure: no drawing here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from runner.report.text import absent, value_of
from runner.report.verdict import IDLE

Row = dict[str, Any]


@dataclass(frozen=True)
class HeatCell:
    """A pair of values.

    Attributes:
        percent: the best time over the cell's; None where the cell has no time.
        words: why it has none.
        row: its fastest case, or the first of those that failed.
    """

    percent: float | None
    words: str
    row: Row

    @property
    def best(self) -> bool:
        """Whether nothing is faster."""
        return self.percent == 100


@dataclass(frozen=True)
class HeatPanel:
    """A kernel: its name, and its cells by line and column; None where there is no such case."""

    title: str
    cells: tuple[tuple[HeatCell | None, ...], ...]

    @property
    def percents(self) -> list[float]:
        """Those of all cells that have a time."""
        return [cell.percent for line in self.cells for cell in line if cell and cell.percent is not None]


def cells(
    rows: list[Row], axes: tuple[str, str], lines: list[str], columns: list[str]
) -> tuple[tuple[HeatCell | None, ...], ...]:
    """The cells of a kernel by line and column."""
    by_place: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        by_place.setdefault((value_of(axes[0], row), value_of(axes[1], row)), []).append(row)
    chosen = {place: _chosen(own) for place, own in by_place.items()}
    best: dict[str, float] = {}
    for (_, column), row in chosen.items():
        if _has_time(row):
            group = column if axes[1] == "size" else ""
            best[group] = min(row["median_us"], best.get(group, row["median_us"]))
    return tuple(
        tuple(_cell(chosen.get((line, column)), best.get(column if axes[1] == "size" else "")) for column in columns)
        for line in lines
    )


def _chosen(rows: list[Row]) -> Row:
    """The fastest; where none has a time the first that failed, else the first."""
    if right := [row for row in rows if _has_time(row)]:
        return min(right, key=lambda row: float(row["median_us"]))
    return min(rows, key=lambda row: row["status"] in IDLE)


def _has_time(row: Row) -> bool:
    return row["status"] == "ok" and not absent(row["median_us"]) and row["median_us"] > 0


def _cell(row: Row | None, best: float | None) -> HeatCell | None:
    if row is None:
        return None
    if not _has_time(row) or best is None:
        return HeatCell(None, "no time" if row["status"] == "ok" else str(row["status"]).replace("_", " "), row)
    return HeatCell(100 * (best / row["median_us"]), "", row)


def varies(panel: HeatPanel) -> bool:
    """Whether there is something to see: two values down and across, six cells, and few holes."""
    there = [[cell is not None for cell in line] for line in panel.cells]
    down = sum(any(line) for line in there)
    across = sum(any(column) for column in zip(*there, strict=True))
    cases = sum(map(sum, there))
    return down > 1 and across > 1 and cases >= max(6, down * across / 2) and len(panel.percents) > 1
