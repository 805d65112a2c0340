"""The tables of the page: which columns, and what stands in each cell. Pure: no HTML here."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import pandas as pd

from runner.report.best import Best, differing_peers
from runner.report.ratio import Ratio
from runner.report.table import constant, records, varying, where_read
from runner.report.text import absent, exact, one_line, size_of
from runner.report.traffic import PAIRS, pair

EXACT = frozenset(("median_us", "hot_median_us", "min_us", "gbps"))
DECIMALS = {
    "percent_peak": 1, "percent_copy": 1, "occupancy_percent": 0, "waves": 1, "round_spread_percent": 2,
}  # fmt: skip
RANGES = {"ci_low_us to ci_high_us": ("ci_low_us", "ci_high_us"), "q1_us to q3_us": ("q1_us", "q3_us")}
TIMES = ("median_us", "ci_low_us to ci_high_us", "hot_median_us", "gbps", "percent_peak", "percent_copy", "speedup")
DECIDING = (*TIMES, "round_spread_percent", "reason")
FURTHER = (
    *(*PAIRS, "value", "occupancy_percent", "waves", "bytes_in_flight", "grid", "shared_dynamic", "q1_us to q3_us"),
    *("min_us", "rounds", "samples", "stop_reason", "registers", "shared_bytes", "local_bytes", "mismatches"),
    *("undefined_reads", "note"),
)
"""Columns that stand behind the deciding ones, shown when they are asked for; paper has no room for them."""

ZERO_IS_NOTHING = frozenset(("mismatches", "undefined_reads", "shared_dynamic", "shared_bytes", "local_bytes", "level"))
LEFT = frozenset(
    ("kernel", "status", "reason", "note", "device", "dtype", "family", "finish", "baseline", "level", "stop_reason")
)


@dataclass(frozen=True)
class Cell:
    """What stands in a cell, what it is sorted by where that is not its text, and a word that the style knows."""

    text: str
    key: str = ""
    kind: str = ""


@dataclass(frozen=True)
class Line:
    """A row of a table: its anchor, words that a filter finds beside what its cells say, and its cells."""

    anchor: str
    words: str
    cells: list[Cell]


@dataclass(frozen=True)
class Table:
    """A table with its column names."""

    columns: list[str]
    lines: list[Line]

    @property
    def first_further(self) -> str:
        """The first of the columns that wait to be asked for; empty where there are none."""
        return next((name for name in self.columns if name in FURTHER), "")


def all_cases(frame: pd.DataFrame, ratios: dict[int, Ratio]) -> Table:
    """Every case, with the columns that hold anything; what is the same in all of them is `said_once`."""
    rows, settled = records(frame), _settled(frame)
    names = [*varying(frame), "status", *DECIDING, *(name for name in FURTHER if name not in settled)]
    lines = [[_cell(name, row, ratios) for name in names] for row in rows]
    kept = [n for n, name in enumerate(names) if name == "kernel" or _holds_anything(name, [line[n] for line in lines])]
    marks = anchors(frame)
    return Table(
        [names[n] for n in kept],
        [Line(marks[row["row"]], "", [line[n] for n in kept]) for row, line in zip(rows, lines, strict=True)],
    )


def said_once(frame: pd.DataFrame) -> str:
    """What is the same in all cases, and so is no column."""
    everywhere = [name for name in (*constant(frame), *_settled(frame)) if name != "kernel"]
    some = ", ".join(f"{name} {_first(frame, name)}" for name in where_read(frame))
    same = ", ".join(f"{name} {_first(frame, name)}" for name in everywhere)
    return "; ".join(words for words in (same, some and f"where a kernel reads it, {some}") if words)


def _settled(frame: pd.DataFrame) -> list[str]:
    """The further columns with one value in all of several cases; one of zeros is not worth a word."""
    single = {name: set(frame[name]) for name in FURTHER if name in frame.columns and len(frame) > 1}
    found = {name: values.pop() for name, values in single.items() if len(values) == 1}
    return [name for name, v in found.items() if not absent(v) and (v != 0 or name not in ZERO_IS_NOTHING)]


def _first(frame: pd.DataFrame, name: str) -> str:
    told = frame[[not absent(value) for value in frame[name]]].iloc[:1]
    return one_line(_cell(name, records(told)[0], {}).text, 60)


def fastest_cases(frame: pd.DataFrame, best: list[Best], ratios: dict[int, Ratio]) -> Table:
    """The fastest case of every size, told by what varies."""
    apart = [name for name in differing_peers(frame) if name not in varying(frame)]
    parameters = [name for name in varying(frame) if name != "size"]
    beside = [head for head in PAIRS if len({pair(one.row, head) for one in best}) > 1]
    names = ["size", *parameters, *apart, *TIMES, *beside, "level"]
    lines = [[*(_cell(n, one.row, ratios) for n in names[:-1]), _level(one)] for one in best]
    kept = [n for n, name in enumerate(names) if _holds_anything(name, [line[n] for line in lines])]
    marks = anchors(frame)
    return Table(
        [names[n] for n in kept],
        [Line(marks[one.row["row"]], "", [line[n] for n in kept]) for one, line in zip(best, lines, strict=True)],
    )


def anchors(frame: pd.DataFrame) -> dict[int, str]:
    """An id for every row of the page, by the case's own id, so that a link to a row outlives a rebuild."""
    marks: dict[str, int] = {}
    for row, case in zip(frame.index, frame["case"], strict=True):
        mark = "case-" + re.sub(r"[^A-Za-z0-9_-]", "-", str(case))[:60]
        while mark in marks:
            mark += f"-{row}"
        marks[mark] = int(row)
    return {row: mark for mark, row in marks.items()}


def _cell(name: str, row: dict[str, Any], ratios: dict[int, Ratio]) -> Cell:
    if name == "status":
        return Cell(one_line(row["status"].replace("_", " "), 80), kind=_status_kind(row["status"]))
    if name == "speedup":
        ratio = ratios.get(row["row"])
        return Cell(f"{ratio.times:.2f}x" if ratio else "")
    if name in RANGES:
        low, high = (row[part] for part in RANGES[name])
        return Cell("" if absent(low) or absent(high) else f"{exact(low)} to {exact(high)}")
    if name in PAIRS:
        return Cell(pair(row, name))
    if name == "size":
        return Cell(size_of(row))
    if absent(row[name]):
        return Cell("")
    if name in EXACT:
        return Cell(exact(row[name]))
    if name in DECIMALS:
        return Cell(f"{row[name]:,.{DECIMALS[name]}f}")
    return Cell(one_line(str(row[name]), 80))


def _status_kind(status: str) -> str:
    return {"ok": "good", "skipped": "idle", "not_run": "idle"}.get(status, "bad")


def _holds_anything(name: str, cells: list[Cell]) -> bool:
    if name in ZERO_IS_NOTHING:
        return any(cell.text not in ("", "0") for cell in cells)
    return any(cell.text for cell in cells)


def _level(best: Best) -> Cell:
    if best.among == 1:
        return Cell("the only one")
    level, unsure = len(best.ties.tied), len(best.ties.undecided)
    return Cell(f"{level}, perhaps {level + unsure}" if unsure else str(level))
