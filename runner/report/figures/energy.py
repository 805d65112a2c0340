"""The figure of a launch's energy against its time."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from runner.display.text import count, described, one_line, size_of
from runner.record.ranking import differing_peers
from runner.record.run import size_key
from runner.report.figures import chart
from runner.report.figures.chart import PALE, Axis, Chart, Look
from runner.report.figures.figure import Figure, Results, Row, group

MAX_PANELS = 6
STEPS_W = (50, 100, 150, 200, 300, 400, 500, 600, 700, 800, 1000, 1200)


@dataclass(frozen=True)
class Energies(Figure):
    """A panel for each size, and for each value of what else sets cases apart, such as the dtype."""

    panels: Sequence[tuple[str, list[Row]]]
    results: Results

    def rows(self) -> list[Row]:
        """One row per case."""
        names = ("energy_us", "joules", "joules_ci", "energy_w", "idle_w", "gbps_per_watt")
        rows = [row for _, rows in self.panels for row in rows]
        return [{**self.results.identity(row), **{name: row.get(name) for name in names}} for row in rows]

    def as_chart(self) -> Chart:
        """The panels, each with its own range: sizes differ by orders of magnitude."""
        columns = min(2, len(self.panels))
        panels = [self._panel(title, rows) for title, rows in self.panels]
        return Chart(panels, columns, 3.6 if columns == 1 else 3.1, legend="beside")

    def _panel(self, title: str, rows: list[Row]) -> chart.Panel:
        times, joules = [row["energy_us"] for row in rows], [row["joules"] for row in rows]
        errors = [0.0 if math.isnan(row["joules_ci"]) else row["joules_ci"] for row in rows]
        low_ends, high_ends = ([j + sign * e for j, e in zip(joules, errors, strict=True)] for sign in (-1, 1))
        low, high = min(times) / 1.12, max(times) * 1.25
        bottom, top = max(min(low_ends), min(joules) / 2) / 1.3, max(high_ends) * 1.12
        looks = [self.results.looks[str(row["kernel"])] for row in rows]
        best = min(rows, key=lambda row: float(row["joules"]))
        name = one_line(described(best, [name for name in self.results.run.varying if name != "size"]), 46)
        side = -1 if best["energy_us"] > math.sqrt(low * high) else 1
        where: dict[str, Any] = {"right": 7 * side, "up": -3, "align": "right" if side < 0 else "left"}
        marks = [
            *_powers(rows, (low, high), (bottom, top)),
            chart.Whiskers(times, low_ends, high_ends, [look.colour for look in looks]),
            *(
                chart.Line([row["energy_us"]], [row["joules"]], replace(look, dash=""), one_line(row["kernel"], 30))
                for row, look in zip(rows, looks, strict=True)
            ),
            chart.Note(best["energy_us"], best["joules"], name, size=7.5, vertical="top", **where),
        ]
        x = Axis("time of a launch (µs)", low, high, log=True)
        return chart.Panel(title, x, Axis("energy of a launch (J)", bottom, top, log=True), marks)


def _powers(rows: list[Row], x: tuple[float, float], y: tuple[float, float]) -> Iterator[chart.Mark]:
    """Lines along which the power is the same, each with its watts."""
    powers = [row["joules"] / row["energy_us"] * 1e6 for row in rows]
    near = [watts for watts in STEPS_W if min(powers) / 1.4 < watts < max(powers) * 1.4]
    (low, high), (bottom, top) = x, y
    for watts in near[:: 1 + len(near) // 5]:
        if (end := watts * high * 1e-6) > bottom and watts * low * 1e-6 < top:
            yield chart.Line([low, high], [watts * low * 1e-6, end], Look(PALE, dash=":", width=0.8))
            at = (high, end) if end < top else (top / watts * 1e6, top)
            yield chart.Note(*at, f"{watts} W", -2, -2, PALE, 7, "right", "top")


def figures(results: Results) -> list[Energies]:
    """Choose the figure of a run with energies."""
    if "joules" not in results.run.frame:
        return []
    peers = differing_peers(results.run)
    rows = [row for row in results.run.measured.rows if row["joules"] > 0 and row["energy_us"] > 0]
    groups = group(rows, lambda row: (size_key(row), *(str(row[name]) for name in peers)))
    panels = [(_title(rows[0], peers), rows) for _, rows in sorted(groups.items()) if len(rows) > 1]
    if not panels:
        return []
    left_out = count(len(panels) - MAX_PANELS, "further panel")
    more = f" Not drawn: {left_out}; the table has all cases." if len(panels) > MAX_PANELS else ""
    caption = (
        "Launches back to back with warm caches. Along a dotted line the power of the board is the same. Bars: 95 % "
        f"intervals. The lowest point, with its name, uses the least energy; the leftmost is the fastest.{more}"
    )
    return [Energies("energy", "energy", "Energy of a launch against its time", caption, panels[-MAX_PANELS:], results)]


def _title(row: Row, peers: Sequence[str]) -> str:
    return ", ".join([f"size {size_of(row)}", *(f"{name} {one_line(str(row[name]), 30)}" for name in peers)])
