"""Speed-ups over the declared baseline against the size. A point is the geometric mean of the ratios of one size."""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from typing import TYPE_CHECKING

from runner.report.cells import Case, by_baseline
from runner.report.figures.axes import positions, set_ticks, set_x, sheet
from runner.report.figures.figure import PALE, Figure, Row, Run
from runner.report.text import count, listed, one_line, value_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

MOST_PANELS, GREY = 12, "#9a9aa2"


@dataclass(frozen=True)
class Point:
    """The cases of a kernel at a size."""

    size: str
    cases: list[Case]

    @property
    def times(self) -> float:
        """The geometric mean of the ratios."""
        return statistics.geometric_mean(ratio.times for _, ratio in self.cases)


@dataclass(frozen=True)
class Panel:
    """A kernel, its name in the figure, its baseline, and a point for each size."""

    kernel: str
    title: str
    baseline: str
    points: list[Point]

    @property
    def cases(self) -> list[Case]:
        """The cases of all points."""
        return [case for point in self.points for case in point.cases]


@dataclass(frozen=True)
class Speedups(Figure):
    """A panel for each kernel, on common axes."""

    section = "baseline"
    panels: list[Panel]
    run: Run

    def rows(self) -> list[Row]:
        """A row for each case."""
        return [
            {
                "panel": panel.title,
                **self.run.identity(row),
                "baseline": row["baseline"],
                "speedup": ratio.times,
                "speedup_low": ratio.low,
                "speedup_high": ratio.high,
                "speedup_mean": point.times,
            }
            for panel in self.panels
            for point in panel.points
            for row, ratio in point.cases
        ]

    def draw(self) -> Drawing:
        """Draw the panels. The axis is wide enough that next to nothing does not look large."""
        columns = min(3, len(self.panels))
        figure, every = sheet(self.title, len(self.panels), columns, 2.1, sharex=True, sharey=True)
        cases = [case for panel in self.panels for case in panel.cases]
        places = positions([row for row, _ in cases], "size")
        low, high = min(ratio.low for _, ratio in cases), max(ratio.high for _, ratio in cases)
        for number, (axes, panel) in enumerate(zip(every, self.panels, strict=True)):
            title = f"{one_line(panel.title, 42)}\nagainst {one_line(panel.baseline, 34)}"
            axes.set_title(title, fontsize=8.5, fontweight="normal", linespacing=1.25)
            set_x(axes, places, "size", 5)
            if number + columns < len(self.panels):
                axes.set_xlabel("")
            axes.set_yscale("log")
            set_ticks(axes.yaxis, min(0.8, 0.93 * low), max(1.25, 1.08 * high), "x")
            axes.tick_params(labelsize=8)
            axes.axhline(1, color=PALE, linewidth=1.1)
            self._line(axes, panel, places)
        return figure

    def _line(self, axes: Axes, panel: Panel, places: dict[str, float]) -> None:
        """Draw a kernel's means, the single cases with their intervals, and write the last mean."""
        stroke, many = self.run.looks[panel.kernel], len(panel.cases) > len(panel.points)
        at, ratios = [places[value_of("size", row)] for row, _ in panel.cases], [ratio for _, ratio in panel.cases]
        colour = GREY if many else stroke.colour
        axes.vlines(at, [one.low for one in ratios], [one.high for one in ratios], color=colour, linewidth=1)
        if many:
            axes.plot(at, [one.times for one in ratios], "o", color=GREY, markersize=2.6)
        x, means = [places[point.size] for point in panel.points], [point.times for point in panel.points]
        axes.plot(x, means, color=stroke.colour, marker=stroke.marker, markersize=4.5)
        last = f"{means[-1]:.2f}x", (x[-1], means[-1]), (8, 0)
        axes.annotate(*last, textcoords="offset points", va="center", fontsize=8.5, annotation_clip=False)


def figures(run: Run) -> list[Speedups]:
    """The figure of a run with speed-ups at several sizes; those of one size stand in the tables and beside bars."""
    panels = []
    for (title, baseline), by_size in by_baseline(run.frame, run.ratios).items():
        points = [Point(size, cases) for size, cases in by_size.items() if size]
        if points:
            panels.append(Panel(str(points[0].cases[0][0]["kernel"]), title, baseline, points))
    if len({point.size for panel in panels for point in panel.points}) < 2:
        return []
    drawn, others = panels[:MOST_PANELS], [one_line(panel.title, 60) for panel in panels[MOST_PANELS:]]
    many = any(len(panel.cases) > len(panel.points) for panel in drawn)
    notes = [
        "Baseline time divided by kernel time, at equal parameters: above 1x the kernel is faster.",
        "Marker: the geometric mean of the cases of a size; grey: each case." if many else "",
        f"{'Grey' if many else 'Thin'} line: range implied by both 95 % intervals.",
        f"{count(sum(len(panel.cases) for panel in drawn), 'case')}.",
        f"Not drawn: {listed(others)}; the table has them." if others else "",
    ]
    caption = " ".join(filter(None, notes))
    return [Speedups("speedup-by-size", "Speed-up over the declared baseline", caption, drawn, run)]
