"""The tables of the page: which columns, and what stands in each cell. Pure: no HTML here."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import pandas as pd

from runner.report.ratio import Ratio
from runner.report.table import records, varying
from runner.report.text import absent, exact, one_line, size_of, value_of
from runner.report.traffic import PAIRS, pair
from runner.report.verdict import Best, differing_peers

EXACT = frozenset(("median_us", "hot_median_us", "min_us", "gbps"))
DECIMALS = {
    "percent_peak": 1, "percent_copy": 1, "occupancy_percent": 0, "waves": 1, "round_spread_percent": 2,
}  # fmt: skip
RANGES = {"ci_low_us to ci_high_us": ("ci_low_us", "ci_high_us"), "q1_us to q3_us": ("q1_us", "q3_us")}
MEASURED = (
    *("median_us", "ci_low_us to ci_high_us", "hot_median_us", "gbps", "percent_peak", "percent_copy", "speedup"),
    *(*PAIRS, "value", "occupancy_percent", "waves", "grid", "shared_dynamic", "q1_us to q3_us", "min_us", "rounds"),
    *("samples", "round_spread_percent", "stop_reason", "registers", "shared_bytes", "local_bytes"),
    *("mismatches", "undefined_reads", "reason", "note"),
)
LEFT = frozenset(
    ("kernel", "status", "reason", "note", "device", "dtype", "family", "finish", "baseline", "level", "stop_reason")
)
MINOR = frozenset((*MEASURED[MEASURED.index("value") :], "percent_copy"))
"""Columns that paper has no room for."""


@dataclass(frozen=True)
class Cell:
    """What stands in a cell, what it is sorted by (empty: last), and a word that the style knows."""

    text: str
    key: str = ""
    kind: str = ""


@dataclass(frozen=True)
class Line:
    """A row of a table: its anchor, the words a filter finds, and its cells."""

    anchor: str
    words: str
    cells: list[Cell]


@dataclass(frozen=True)
class Table:
    """A table with its column names."""

    columns: list[str]
    lines: list[Line]


def all_cases(frame: pd.DataFrame, ratios: dict[int, Ratio]) -> Table:
    """Every case, with the columns that hold anything; parameters only where they vary."""
    parameters, rows = varying(frame), records(frame)
    names = [*parameters, "status", *MEASURED]
    lines = [[_cell(name, row, ratios) for name in names] for row in rows]
    kept = [n for n, name in enumerate(names) if name == "kernel" or _holds_anything(name, [line[n] for line in lines])]
    marks = anchors(frame)
    return Table(
        [names[n] for n in kept],
        [
            Line(marks[r["row"]], _words(r, parameters), [line[n] for n in kept])
            for r, line in zip(rows, lines, strict=True)
        ],
    )


def fastest_cases(frame: pd.DataFrame, best: list[Best], ratios: dict[int, Ratio]) -> Table:
    """The fastest case of every size, told by what varies."""
    apart = [name for name in differing_peers(frame) if name not in varying(frame)]
    parameters = [name for name in varying(frame) if name != "size"]
    beside = [head for head in PAIRS if len({pair(one.row, head) for one in best}) > 1]
    names = ["size", *parameters, *apart, *MEASURED[: MEASURED.index("speedup") + 1], *beside, "level"]
    lines = [[*(_cell(n, one.row, ratios) for n in names[:-1]), _level(one)] for one in best]
    kept = [n for n in range(len(names)) if any(line[n].text for line in lines)]
    marks = anchors(frame)
    return Table(
        [names[n] for n in kept],
        [Line(marks[one.row["row"]], "", [line[n] for n in kept]) for one, line in zip(best, lines, strict=True)],
    )


def baseline_ratios(frame: pd.DataFrame, ratios: dict[int, Ratio]) -> Table:
    """Kernel by size: the geometric middle of the ratios, and the range that holds all their intervals."""
    rows = {row["row"]: row for row in records(frame)}
    several = differing_peers(frame)
    groups: dict[tuple[str, str], dict[str, list[Ratio]]] = {}
    order = {size_of(row): (row["size"], size_of(row)) for row in rows.values() if not absent(row["size"])}
    for ratio in ratios.values():
        row, base = rows[ratio.row], rows[ratio.baseline_row]
        name = ", ".join([row["kernel"], *(f"{n} {row[n]}" for n in several if n in ("dtype", "device"))])
        against = base["kernel"]
        if base["finish"] != row["finish"]:
            name, against = f"{name} (finish {row['finish']})", f"{against} (finish {base['finish']})"
        groups.setdefault((name, against), {}).setdefault(size_of(row), []).append(ratio)
    sizes = sorted(
        {size for by_size in groups.values() for size in by_size}, key=lambda size: order.get(size, (0, size))
    )
    lines = [
        Line("", "", [Cell(name), Cell(against), *(_ratio_cell(by_size.get(size, [])) for size in sizes)])
        for (name, against), by_size in groups.items()
    ]
    return Table(["kernel", "baseline", *(size or "speedup" for size in sizes)], lines)


def anchors(frame: pd.DataFrame) -> dict[int, str]:
    """An id for every row of the page, by the case's own id, so that a link to a row outlives a rebuild."""
    marks: dict[int, str] = {}
    for row, case in zip(frame.index, frame["case"], strict=True):
        mark = "case-" + re.sub(r"[^A-Za-z0-9_-]", "-", str(case))[:60]
        marks[int(row)] = mark if mark not in marks.values() else f"{mark}-{row}"
    return marks


def _cell(name: str, row: dict[str, Any], ratios: dict[int, Ratio]) -> Cell:
    if name == "status":
        return Cell(row["status"].replace("_", " "), kind=_status_kind(row["status"]))
    if name == "speedup":
        ratio = ratios.get(row["row"])
        return Cell(f"{ratio.times:.2f}x", f"{ratio.times:.6g}") if ratio else Cell("")
    if name in RANGES:
        low, high = (row[part] for part in RANGES[name])
        return Cell("") if absent(low) or absent(high) else Cell(f"{exact(low)} to {exact(high)}", f"{low:.9g}")
    if name in PAIRS:
        text = pair(row, name)
        return Cell(text, next((f"{row[part]:.9g}" for part in PAIRS[name] if not absent(row[part])), ""))
    if name == "size":
        return Cell(size_of(row), "" if absent(row["size"]) else str(row["size"]))
    if absent(row[name]):
        return Cell("")
    if name in EXACT:
        return Cell(exact(row[name]), f"{row[name]:.9g}")
    if name in DECIMALS:
        return Cell(f"{row[name]:,.{DECIMALS[name]}f}", f"{row[name]:.9g}")
    if name == "block":
        return Cell(row["block"], str(_threads(row)))
    return Cell(one_line(str(row[name]), 80), str(row[name]) if isinstance(row[name], int | float) else "")


def _threads(row: dict[str, Any]) -> int:
    sides = [int(side) for side in re.findall(r"\d{1,9}", row["block"])]
    return (sides or [0])[0] * (sides[1] if len(sides) > 1 else 1)


def _status_kind(status: str) -> str:
    return {"ok": "good", "skipped": "idle", "not_run": "idle"}.get(status, "bad")


def _holds_anything(name: str, cells: list[Cell]) -> bool:
    if name in ("mismatches", "undefined_reads", "shared_dynamic", "shared_bytes", "local_bytes"):
        return any(cell.text not in ("", "0") for cell in cells)
    return any(cell.text for cell in cells)


def _words(row: dict[str, Any], parameters: list[str]) -> str:
    """What the filter matches as whole words; a size is found by its digits too."""
    told = [f"{name}={value_of(name, row)}" for name in parameters if value_of(name, row)]
    size = [] if absent(row["size"]) else [f"size={row['size']}"]
    return " ".join(one_line(word, 80).replace(" ", "_") for word in (*told, *size, f"status={row['status']}")).lower()


def _level(best: Best) -> Cell:
    if best.among == 1:
        return Cell("the only one")
    level, unsure = len(best.ties.level), len(best.ties.unsure)
    return Cell(f"{level}, perhaps {level + unsure}" if unsure else str(level or ""))


def _ratio_cell(found: list[Ratio]) -> Cell:
    if not found:
        return Cell("")
    product = 1.0
    for ratio in found:
        product *= ratio.times
    middle = product ** (1 / len(found))
    low, high = min(r.low for r in found), max(r.high for r in found)
    over = f", {len(found)} cases" if len(found) > 1 else ""
    kind = "level" if low <= 1 <= high else "good" if low > 1 else "slow"
    return Cell(f"{middle:.2f}x ({low:.2f} to {high:.2f}{over})", f"{middle:.6g}", kind)
