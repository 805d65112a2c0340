"""The figure of a launch's energy against its time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from runner.display.text import described, one_line, size_of
from runner.record.ranking import differing_peers
from runner.record.run import size_key
from runner.report.figures.figure import PALE, Figure, Results, Row, set_ticks, sheet

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

MOST_PANELS = 6
STEPS_W = (50, 100, 150, 200, 300, 400, 500, 600, 700, 800, 1000, 1200)


@dataclass(frozen=True)
class Energies(Figure):
    """Energy against time, one panel per size."""

    section = "energy"
    panels: Sequence[tuple[str, list[Row]]]
    results: Results

    def rows(self) -> list[Row]:
        """One row per case."""
        shown = ("energy_us", "joules", "joules_ci", "energy_w", "idle_w", "gbps_per_watt")
        return [
            {**self.results.identity(row), **{name: row.get(name) for name in shown}}
            for _, rows in self.panels
            for row in rows
        ]

    def draw(self) -> Drawing:
        """Draw the panels, each with its own range, because sizes differ by orders of magnitude."""
        columns = min(2, len(self.panels))
        figure, every = sheet(self.title, len(self.panels), columns, 3.6 if columns == 1 else 3.1)
        for axes, (title, rows) in zip(every, self.panels, strict=True):
            axes.set_title(title)
            self._panel(axes, rows)
        handles = {str(p.get_label()): p for axes in every for p in axes.lines if str(p.get_label())[0] != "_"}
        figure.legend(handles=list(handles.values()), loc="outside right upper")
        return figure

    def _panel(self, axes: Axes, rows: list[Row]) -> None:
        times, joules = [row["energy_us"] for row in rows], [row["joules"] for row in rows]
        errors = [0.0 if math.isnan(row["joules_ci"]) else row["joules_ci"] for row in rows]
        axes.set_xscale("log")
        axes.set_yscale("log")
        low, high = min(times) / 1.12, max(times) * 1.25
        least = min(j - e for j, e in zip(joules, errors, strict=True))
        bottom, top = max(least, min(joules) / 2) / 1.3, max(map(sum, zip(joules, errors, strict=True))) * 1.12
        set_ticks(axes.xaxis, low, high)
        set_ticks(axes.yaxis, bottom, top)
        axes.set_xlim(low, high)
        axes.set_ylim(bottom, top)
        axes.set_xlabel("time of a launch (µs)")
        axes.set_ylabel("energy of a launch (J)")
        powers = [row["joules"] / row["energy_us"] * 1e6 for row in rows]
        near = [watts for watts in STEPS_W if min(powers) / 1.4 < watts < max(powers) * 1.4]
        for watts in near[:: 1 + len(near) // 5]:
            if (end := watts * high * 1e-6) > bottom and watts * low * 1e-6 < top:
                axes.plot([low, high], [watts * low * 1e-6, end], ":", color=PALE, linewidth=0.8, label="_")
                x, y = (high, end) if end < top else (top / watts * 1e6, top)
                axes.annotate(f"{watts} W", (x, y), (-2, -2), textcoords="offset points", fontsize=7, color=PALE,
                              ha="right", va="top")  # fmt: skip
        for row, error in zip(rows, errors, strict=True):
            look = self.results.looks[str(row["kernel"])]
            axes.errorbar(row["energy_us"], row["joules"], yerr=error, color=look.colour, linewidth=1)
            axes.plot(
                row["energy_us"], row["joules"], look.marker, color=look.colour, label=one_line(row["kernel"], 30)
            )
        best = min(rows, key=lambda row: float(row["joules"]))
        apart = [name for name in self.results.run.varying if name != "size"]
        right = best["energy_us"] > math.sqrt(low * high)
        axes.annotate(
            one_line(described(best, apart), 46),
            (best["energy_us"], best["joules"]),
            (-7 if right else 7, -3),
            textcoords="offset points",
            fontsize=7.5,
            ha="right" if right else "left",
            va="top",
        )


def figures(results: Results) -> list[Energies]:
    """Choose the figure of a run with energies."""
    if "joules" not in results.run.frame:
        return []
    groups: dict[tuple[Any, ...], list[Row]] = {}
    apart = differing_peers(results.run)
    for row in results.run.measured.rows:
        if row["joules"] > 0 and row["energy_us"] > 0:
            groups.setdefault((size_key(row), *(str(row[name]) for name in apart)), []).append(row)
    panels = [(_title(rows[0], apart), rows) for _, rows in sorted(groups.items()) if len(rows) > 1]
    if not panels:
        return []
    more = (
        f" {len(panels) - MOST_PANELS} smaller sizes are not drawn; the table has them."
        if len(panels) > MOST_PANELS
        else ""
    )
    caption = (
        "Launches back to back with warm caches. Along a dotted line the power of the board is the same. Bars: 95 % "
        f"intervals. The lowest point, with its name, uses the least energy; the leftmost is the fastest.{more}"
    )
    return [Energies("energy", "Energy of a launch against its time", caption, panels[-MOST_PANELS:], results)]


def _title(row: Row, apart: Sequence[str]) -> str:
    return ", ".join([f"size {size_of(row)}", *(f"{name} {one_line(str(row[name]), 30)}" for name in apart)])
