"""Heat maps: how much a pair of parameters matters to each kernel, in percent of its best.

The pair is block and size if both vary within a kernel. If the size is on the horizontal axis, percentages refer to the
best of each column, because otherwise the differences between sizes would hide all others.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable
from dataclasses import dataclass

from runner.display.text import absent, count, limited, listed, one_line, sentences, size_of, slug, value_of
from runner.record.ranking import IDLE
from runner.record.run import size_key
from runner.report.figures import chart
from runner.report.figures.chart import INK, WIDE, Axis, Chart
from runner.report.figures.figure import Figure, Results, Row, View, group, parse_integer, sorted_values

MAX_PANELS, MAX_NUMBERED_COLUMNS, MAX_NAMES = 9, 20, 8
"""Most panels; most columns with numbers in the cells; most kernels without a panel that the caption names."""

APART = ("kernel", "dtype", "seed", "device")  # never on an axis

LIGHT_PERCENT = 69.5  # from which on black letters have the greater contrast

Place = tuple[str, str]  # the values of a cell: vertical, horizontal


@dataclass(frozen=True)
class HeatPanel:
    """A kernel: the fastest case of each cell, or the first failed one, and its speed in percent of the best."""

    title: str
    rows: dict[Place, Row]
    percents: dict[Place, float]

    def describe(self, place: Place) -> str:
        """A cell in words: its percentage, of which only the best has 100, or its status."""
        if (percent := self.percents.get(place)) is not None:
            return f"{100 if percent == 100 else min(99.9, round(percent, 1)):g} % of the best"
        status = str(self.rows[place]["status"])
        return "no time" if status == "ok" else status.replace("_", " ")

    @property
    def is_informative(self) -> bool:
        """Whether the panel is worth drawing: two values per axis, six cells, and at most half of them empty."""
        down, across = ({place[axis] for place in self.rows} for axis in (0, 1))
        least = max(6, len(down) * len(across) / 2)
        return min(len(down), len(across), len(self.percents)) > 1 and len(self.rows) >= least


@dataclass(frozen=True)
class HeatMap(Figure):
    """A panel for each kernel, with a number in every cell and a frame around the best."""

    axes: tuple[str, str]
    lines: list[str]
    columns: list[str]
    panels: list[HeatPanel]
    results: Results

    @property
    def view(self) -> View:
        """The chart for the page."""
        return {
            "kind": "chart",
            "tall": 62 + 28 * len(self.lines),
            "widest": 64 * len(self.columns) + 130,
            "least": max(250, 34 * len(self.columns) + 70),
            **self.as_chart().plain,
        }

    def rows(self) -> list[Row]:
        """One row per cell."""
        return [
            {
                "panel": panel.title,
                **self.results.identity(row),
                "status": row["status"],
                "percent_of_best": panel.percents.get((down, across)),
                **({name: row[name] for name in ("median_us", "gbps")} if (down, across) in panel.percents else {}),
            }
            for panel in self.panels
            for down, across in itertools.product(self.lines, self.columns)
            if (row := panel.rows.get((down, across)))
        ]

    def as_chart(self) -> Chart:
        """The panels, side by side as far as there is room."""
        words = any(panel.rows.keys() - panel.percents.keys() for panel in self.panels)
        wide = max((0.52 if words else 0.36) * len(self.columns), *(0.09 * len(panel.title) for panel in self.panels))
        beside = max(1 if len(self.columns) > 12 else 2, min(4, int((WIDE - 0.6) / (wide + 0.2))))
        step = 1 + len(self.columns) // (MAX_NUMBERED_COLUMNS + 1)
        columns = [(n + 0.5, one_line(name, 14)) for n, name in enumerate(self.columns)][::step]
        lines = [(n + 0.5, one_line(name, 14)) for n, name in enumerate(self.lines)]
        panels = []
        for number, panel in enumerate(self.panels):
            is_last, is_first = number + beside >= len(self.panels), number % beside == 0
            across = one_line(self.axes[1], 20) if is_last else ""
            down = one_line(self.axes[0], 20) if is_first else ""
            x = Axis(across, 0, len(self.columns), ticks=columns, size=8, bare=True)
            y = Axis(down, len(self.lines), 0, ticks=lines, size=8, bare=True)
            panels.append(chart.Panel(panel.title, x, y, [self._cells(panel)]))
        return Chart(panels, beside, 0.25 * len(self.lines) + 0.55, share_x=True, share_y=True)

    def _cells(self, panel: HeatPanel) -> chart.Cells:
        numbered, places = len(self.columns) <= MAX_NUMBERED_COLUMNS, list(panel.rows)
        percents = [panel.percents.get(place) for place in places]
        words = [
            panel.describe(place).replace(" ", "\n", 1) if percent is None else str(round(percent)) * numbered
            for place, percent in zip(places, percents, strict=True)
        ]
        tips = [f"{panel.describe(place)}\n{self.axes[0]} {place[0]}, {self.axes[1]} {place[1]}" for place in places]
        x, y = [self.columns.index(place[1]) for place in places], [self.lines.index(place[0]) for place in places]
        inks = [INK if percent is None else ink(percent) for percent in percents]
        return chart.Cells(x, y, percents, words, inks, tips, [row["row"] for row in panel.rows.values()])


def ink(percent: float) -> str:
    """Choose the text colour with the most contrast on a cell's colour."""
    return "#000000" if percent > LIGHT_PERCENT else "#ffffff"


def figures(results: Results) -> list[HeatMap]:
    """Choose the heat map of a run in which two parameters vary."""
    rows = results.run.on_gpus.rows
    free, every = [name for name in results.run.parameters if name not in APART], _by_kernel(rows)
    if (axes := _pair(every.values(), free)) is None:
        return []
    if "size" not in axes:
        largest = max((size_key(row) for row in rows if _has_time(row)), default=())
        rows = [row for row in rows if size_key(row) == largest]
    rows = [row for row in rows if all(value_of(name, row) for name in axes)]
    kernels = _by_kernel(rows)
    panels = [panel for title, own in kernels.items() if (panel := _panel(title, own, axes)).is_informative]
    # The choice matters most where the slowest cell is worst.
    chosen = sorted(panels, key=lambda panel: min(panel.percents.values()))[:MAX_PANELS]
    if not chosen:
        return []
    others = [title for title in every if title not in [panel.title for panel in chosen]]
    inside = [name for name in free if name not in axes]
    inside = [name for name in inside if any(len(sorted_values(own, name)) > 1 for own in kernels.values())]
    same = " at the same size" if "size" in axes else ""
    caption = sentences(
        f"Number and colour: percent of the speed of the kernel's fastest case{same}, which is bold in a frame.",
        f"Each cell: the fastest {listed(inside)}." if inside else "",
        f"Not drawn, as the choice matters less there: {listed(limited(others, MAX_NAMES))}." if others else "",
        f"{count(len(rows), 'case')}.",
    )
    at_size = f" at {size_of(rows[0])}" if "size" not in axes and size_of(rows[0]) else ""
    stem = f"heatmap-{slug(axes[0])}-by-{slug(axes[1])}"
    title = f"Speed by {axes[0]} and {axes[1]}{at_size}, in percent of the best"
    lines, columns = (sorted_values(rows, name) for name in axes)
    return [HeatMap("shape", stem, title, caption, axes, lines, columns, [p for p in panels if p in chosen], results)]


def _by_kernel(rows: list[Row]) -> dict[str, list[Row]]:
    """Group cases by the title of their panel: kernel, and dtype, device and place if these vary."""
    names = [name for name in ("dtype", "device", "place") if len({row[name] for row in rows} - {""}) > 1]

    def title(row: Row) -> str:
        return ", ".join([one_line(str(row["kernel"]), 40), *(str(row[name]) for name in names if row[name])])

    return group(rows, title)


def _pair(kernels: Iterable[list[Row]], names: list[str]) -> tuple[str, str] | None:
    """Choose the vertical and the horizontal parameter, with the most values in a kernel; the size is horizontal."""
    cells: dict[tuple[str, str], int] = {}
    for rows in kernels:
        values = {name: sorted_values(rows, name) for name in names}
        # Only numbers have an order.
        counts = {n: len(v) for n, v in values.items() if n in ("size", "block") or None not in map(parse_integer, v)}
        several = sorted((name for name in counts if counts[name] > 1), key=lambda n: (n != "size", -counts[n]))
        if {"block", "size"} <= set(several):
            return "block", "size"
        if len(several) > 1:
            pair = several[1], several[0]
            cells[pair] = max(cells.get(pair, 0), math.prod(counts[name] for name in pair))
    return max(cells, key=lambda pair: cells[pair], default=None)


def _panel(title: str, rows: list[Row], axes: tuple[str, str]) -> HeatPanel:
    timed = sorted((row for row in rows if _has_time(row)), key=lambda row: float(row["cost"]))
    untimed = sorted((row for row in rows if not _has_time(row)), key=lambda row: row["status"] in IDLE)
    chosen: dict[Place, Row] = {}
    best: dict[str, float] = {}
    percents: dict[Place, float] = {}
    for row in [*timed, *untimed]:
        place = (value_of(axes[0], row), value_of(axes[1], row))
        if chosen.setdefault(place, row) is row and _has_time(row):
            time = float(row["cost"])
            percents[place] = 100 * (best.setdefault(place[1] if axes[1] == "size" else "", time) / time)
    return HeatPanel(title, chosen, percents)


def _has_time(row: Row) -> bool:
    return row["status"] == "ok" and not absent(row["cost"]) and row["cost"] > 0
