"""The table of the ratios: kernel by size, each against the baseline that it declares. Pure: no HTML here."""

from __future__ import annotations

import pandas as pd

from runner.report.best import differing_peers
from runner.report.cells import Cell, Line, Table
from runner.report.ratio import Ratio
from runner.report.table import records
from runner.report.text import absent, size_of


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
    return Cell(f"{middle:.2f}x ({low:.2f} to {high:.2f}{over})", kind=kind)
