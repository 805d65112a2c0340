"""Charts of times and bandwidths: lines against a parameter, and bars."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing
from matplotlib.ticker import FuncFormatter

from runner.report.figures.axes import End, name_ends, positions, set_x, set_y, sheet
from runner.report.figures.figure import BACKGROUND, PALE, Figure, Row, Run, of_case
from runner.report.text import absent, beside, count, exact, one_line, rough, value_of

GAP = 0.17
"""Between the names of two lines, in inches."""

TIMES = ("median_us", "q1_us", "q3_us", "gbps", "percent_peak", "percent_copy")
LABELS = {"gbps": "gbps (GB/s, more is better)", "median_us": "median_us (µs, less is better)"}


@dataclass(frozen=True)
class Panel:
    """A pair of axes: its title, a row for each point, and its y axis where that is not the figure's."""

    title: str
    rows: list[Row]
    y: str = ""


@dataclass(frozen=True)
class Times(Figure):
    """What lines and bars have in common."""

    section = "times"
    panels: tuple[Panel, ...]
    run: Run

    @property
    def every(self) -> list[Row]:
        """The rows of all panels."""
        return [row for panel in self.panels for row in panel.rows]

    def rows(self) -> list[Row]:
        """A row for each point."""
        return [
            {"panel": panel.title, **of_case(row, self.run), **{n: row[n] for n in (*TIMES, panel.y) if n}}
            for panel in self.panels
            for row in panel.rows
        ]

    def name(self, row: Row) -> str:
        """The name of a line or bar: the kernel, with its finish where finishes differ."""
        finish = len({row["finish"] for row in self.every}) > 1 and row["finish"]
        return one_line(str(row["kernel"]), 28) + (f" ({row['finish']})" if finish else "")


@dataclass(frozen=True)
class Lines(Times):
    """A line for each kernel, of column `y` against column `x`. The lines of `pale` kernels are grey."""

    x: str
    y: str
    pale: tuple[str, ...] = ()

    def draw(self) -> Drawing:
        """Draw the panels. The names stand at the lines' ends, or in a legend where several panels share it."""
        panels, names = len(self.panels), {self.name(row) for row in self.every}
        height = 2.7 if panels > 1 else max(3.6, GAP * len(names) + 1.2)
        figure, every = sheet(self.title, panels, min(2, panels), height)
        places = positions(self.every, self.x)
        for number, (axes, panel) in enumerate(zip(every, self.panels, strict=True)):
            y, rows = panel.y or self.y, panel.rows if panel.y else self.every
            axes.set_title(one_line(panel.title, 60))
            set_x(axes, places, self.x, 11 if panels == 1 else 6)
            self._set_values(axes, y, rows)
            if number % 2 and not panel.y:
                axes.set_ylabel("")
            ends = [*self._lines(axes, panel, y, places), *_limits(axes, y, rows)]
            if panels == 1:
                name_ends(axes, ends, GAP / (height - 0.9))
        if panels > 1:
            drawn = {str(line.get_label()): line for axes in every for line in axes.lines}
            figure.legend(handles=[line for label, line in drawn.items() if label[0] != "_"], loc="outside right upper")
        return figure

    def _lines(self, axes: Axes, panel: Panel, y: str, places: dict[str, float]) -> list[End]:
        """Draw a panel's lines with the bands of their quartiles, the grey ones below the others."""
        ends = []
        for name, group in itertools.groupby(sorted(panel.rows, key=self._line_order), self.name):
            own = sorted(group, key=lambda row: places[value_of(self.x, row)])
            x, pale = [places[value_of(self.x, row)] for row in own], own[0]["kernel"] in self.pale
            stroke = BACKGROUND if pale else self.run.looks[own[0]["kernel"]]
            look: dict[str, Any] = {"color": stroke.colour, "marker": stroke.marker, "linestyle": stroke.dash}
            low, high = zip(*(_quartiles(row, y) for row in own), strict=True)
            axes.fill_between(x, low, high, color=stroke.colour, alpha=0.18, linewidth=0)
            label = count(len(self.pale), "slower kernel") if pale else name
            axes.plot(x, [row[y] for row in own], label=label, linewidth=0.8 if pale else 1.6, **look)
            ends.append(End(name, x[-1], own[-1][y], stroke))
        return ends

    def _line_order(self, row: Row) -> tuple[bool, int, str]:
        return row["kernel"] not in self.pale, list(self.run.looks).index(row["kernel"]), self.name(row)

    def _set_values(self, axes: Axes, y: str, rows: list[Row]) -> None:
        found = [value for row in rows for value in (row[y], *_quartiles(row, y))]
        if y == "gbps":
            found += [limit for column in ("percent_peak", "percent_copy") if (limit := ceiling(rows, column))]
        log = y == "median_us" and (self.x == "size" or max(found) > 4 * min(found))
        set_y(axes, min(found), max(found), LABELS.get(y, "per request (less is better)"), log=log)


@dataclass(frozen=True)
class Bars(Times):
    """A bar for each case, the fastest on top, named by the kernel and the values of the `named` parameters."""

    named: tuple[str, ...]

    def rows(self) -> list[Row]:
        """A row for each bar, with the speed-up that stands beside it."""
        found = super().rows()
        for line, row in zip(found, self.every, strict=True):
            if ratio := self.run.ratios.get(row["row"]):
                line |= {"speedup": ratio.times, "baseline": row["baseline"]}
        return found

    def draw(self) -> Drawing:
        """Draw the panels below one another, the numbers of each bar at the right."""
        most = max(len(panel.rows) for panel in self.panels)
        figure, every = sheet(self.title, len(self.panels), 1, 0.32 * most + 0.75)
        for axes, panel in zip(every, self.panels, strict=True):
            axes.set_title(one_line(panel.title, 60))
            for place, row in enumerate(panel.rows):
                axes.barh(place, row["median_us"], height=0.62, color=self.run.looks[row["kernel"]].colour, alpha=0.85)
                axes.plot(_quartiles(row, "median_us"), [place, place], color="black", linewidth=1)
                style: dict[str, Any] = {"transform": axes.get_yaxis_transform(), "va": "center", "fontsize": 8.5}
                axes.text(1.01, place, self._numbers(row), **style)
            axes.set_yticks(range(len(panel.rows)), [self._bar_name(row) for row in panel.rows])
            axes.set_ylim(len(panel.rows) - 0.4, -0.6)
            axes.set_xlim(0, 1.02 * max(max(_quartiles(row, "median_us")[1], row["median_us"]) for row in self.every))
            axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))
            axes.grid(visible=False, axis="y")
            axes.set_xlabel(LABELS["median_us"])
        return figure

    def _bar_name(self, row: Row) -> str:
        pairs = [(name, value_of(name, row)) for name in self.named]
        words = [value if name == "dtype" else f"{name} {value}" for name, value in pairs if value]
        return ", ".join([self.name(row), *words])

    def _numbers(self, row: Row) -> str:
        ratio = self.run.ratios.get(row["row"])
        words = [
            f"{exact(row['median_us'])} µs",
            "" if absent(row["gbps"]) else f"{rough(row['gbps'])} GB/s",
            f"{ratio.times:.2f}x against {one_line(row['baseline'], 20)}" if ratio else "",
            beside(row),
        ]
        return ", ".join(word for word in words if word)


def _quartiles(row: Row, y: str) -> tuple[float, float]:
    """The quartiles in the unit of the y axis; the value twice where they are unknown."""
    q1, median, q3 = row["q1_us"], row["median_us"], row["q3_us"]
    if y not in ("median_us", "gbps") or absent(q1) or absent(q3) or q1 <= 0:
        return row[y], row[y]
    return (q1, q3) if y == "median_us" else (row[y] * median / q3, row[y] * median / q1)


def _limits(axes: Axes, y: str, rows: list[Row]) -> Iterator[End]:
    """Draw the peak and the bandwidth of a copy, and return their ends."""
    for column, name, dash in (("percent_peak", "peak", (6, 3)), ("percent_copy", "copy", (1, 2))):
        if y == "gbps" and (limit := ceiling(rows, column)):
            end = End(f"{name} {limit:,.0f} GB/s", axes.get_xlim()[1], limit)
            axes.axhline(limit, color=PALE, linewidth=1.1, linestyle=(0, dash), label=end.text)
            yield end


def ceiling(rows: list[Row], column: str) -> float | None:
    """The bandwidth of which a column is the percentage; None where rows disagree by more than rounding."""
    known = sorted(100 * row["gbps"] / row[column] for row in rows if not absent(row[column]) and row[column] > 0)
    return float(known[len(known) // 2]) if known and known[-1] <= 1.03 * known[0] else None
