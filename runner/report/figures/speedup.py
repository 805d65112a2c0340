"""Speed-ups over the declared baseline: against the size, or a line for each kernel where there is one size.

A point is the geometric mean of the ratios of one size, with the cases behind it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing

from runner.report.figures.axes import positions, set_ticks, set_x, sheet
from runner.report.figures.figure import Figure, Row, Run, of_case
from runner.report.figures.style import PALE
from runner.report.ratio import Ratio
from runner.report.table import records
from runner.report.text import count, listed, one_line, value_of

MOST_PANELS, MOST_LINES, GREY = 12, 24, "#9a9aa2"

Case = tuple[Row, Ratio]


@dataclass(frozen=True)
class Point:
    """The cases of a kernel at a size."""

    size: str
    cases: list[Case]

    @property
    def times(self) -> float:
        """The geometric mean of the ratios."""
        return math.exp(sum(math.log(ratio.times) for _, ratio in self.cases) / len(self.cases))

    @property
    def ends(self) -> tuple[float, float]:
        """The range that holds the intervals of all cases."""
        return min(ratio.low for _, ratio in self.cases), max(ratio.high for _, ratio in self.cases)


@dataclass(frozen=True)
class Panel:
    """A kernel, its name in the figure, its baseline, and a point for each size."""

    kernel: str
    title: str
    baseline: str
    points: list[Point]


@dataclass(frozen=True)
class Speedups(Figure):
    """The speed-ups of several kernels, a panel for each."""

    section = "baseline"
    panels: list[Panel]
    run: Run

    @property
    def limits(self) -> tuple[float, float]:
        """The range of the speed-ups, wide enough that next to nothing does not look large."""
        ends = [end for panel in self.panels for point in panel.points for end in point.ends]
        return min(0.8, 0.93 * min(ends)), max(1.25, 1.08 * max(ends))

    def rows(self) -> list[Row]:
        """A row for each case."""
        return [
            {
                "panel": panel.title,
                **of_case(row, self.run),
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


@dataclass(frozen=True)
class BySize(Speedups):
    """A panel for each kernel."""

    def draw(self) -> Drawing:
        """Draw the panels on common axes."""
        columns = min(3, len(self.panels))
        figure, every = sheet(self.title, len(self.panels), columns, 2.1, sharex=True, sharey=True)
        places = positions([row for panel in self.panels for p in panel.points for row, _ in p.cases], "size")
        for number, (axes, panel) in enumerate(zip(every, self.panels, strict=True)):
            told = f"{one_line(panel.title, 42)}\nagainst {one_line(panel.baseline, 34)}"
            axes.set_title(told, fontsize=8.5, fontweight="normal", linespacing=1.25)
            set_x(axes, places, "size", 5)
            if number + columns < len(self.panels):
                axes.set_xlabel("")
            axes.set_yscale("log")
            set_ticks(axes.yaxis, *self.limits, "x")
            axes.tick_params(labelsize=8)
            axes.axhline(1, color=PALE, linewidth=1.1)
            self._line(axes, panel, [places[point.size] for point in panel.points])
        return figure

    def _line(self, axes: Axes, panel: Panel, x: list[float]) -> None:
        """Draw a kernel's means, the single cases with their intervals, and write the last mean."""
        stroke = self.run.looks[panel.kernel]
        cases = [(at, ratio) for at, point in zip(x, panel.points, strict=True) for _, ratio in point.cases]
        many = len(cases) > len(x)
        low, high = [ratio.low for _, ratio in cases], [ratio.high for _, ratio in cases]
        axes.vlines([at for at, _ in cases], low, high, color=GREY if many else stroke.colour, linewidth=1)
        if many:
            axes.plot([at for at, _ in cases], [r.times for _, r in cases], "o", color=GREY, markersize=2.6)
        means = [point.times for point in panel.points]
        axes.plot(x, means, color=stroke.colour, marker=stroke.marker, markersize=4.5)
        beside: dict[str, Any] = {"xytext": (8, 0), "textcoords": "offset points", "va": "center", "fontsize": 8.5}
        axes.annotate(f"{means[-1]:.2f}x", (x[-1], means[-1]), annotation_clip=False, **beside)


@dataclass(frozen=True)
class ByKernel(Speedups):
    """A line for each kernel at one size."""

    def draw(self) -> Drawing:
        """Draw the kernels below one another, the numbers of each at the right."""
        figure, (axes,) = sheet(self.title, 1, 1, 0.32 * len(self.panels) + 0.8)
        axes.set_xscale("log")
        set_ticks(axes.xaxis, *self.limits, "x")
        axes.set_xlabel("speed-up (times as fast as the baseline)")
        axes.axvline(1, color=PALE, linewidth=1.1)
        axes.grid(visible=False, axis="y")
        axes.set_yticks(range(len(self.panels)), [f"{panel.title} against {panel.baseline}" for panel in self.panels])
        axes.set_ylim(len(self.panels) - 0.4, -0.6)
        for place, panel in enumerate(self.panels):
            (point,), stroke = panel.points, self.run.looks[panel.kernel]
            many = len(point.cases) > 1
            axes.barh(place, point.times - 1, left=1, height=0.5, color=stroke.colour, alpha=0.3)
            if many:
                axes.plot([r.times for _, r in point.cases], [place] * len(point.cases), "|", color=GREY, markersize=8)
            axes.plot(point.ends, [place, place], color=GREY if many else stroke.colour, linewidth=1.2)
            axes.plot([point.times], [place], color=stroke.colour, marker=stroke.marker, markersize=6)
            told = f"{point.times:.2f}x ({point.ends[0]:.2f} to {point.ends[1]:.2f}"
            told += f", {len(point.cases)} cases)" if many else ")"
            axes.text(1.01, place, told, transform=axes.get_yaxis_transform(), va="center", fontsize=8.5)
        return figure


def figures(run: Run) -> list[Speedups]:
    """The figure of a run whose kernels, or one of them at several sizes, have speed-ups."""
    rows = {row["row"]: row for row in records(run.frame)}
    cases = [(rows[number], ratio) for number, ratio in run.ratios.items()]
    sized = [(row, ratio) for row, ratio in cases if value_of("size", row)]
    places = positions([row for row, _ in sized], "size")
    several = len(places) > 1
    kernels = _by_kernel(sized if several else cases, rows)
    if not several and len(kernels) < 2:
        return []
    most = MOST_PANELS if several else MOST_LINES
    panels = [
        Panel(str(own[0][0]["kernel"]), title, base, _points(own, places if several else {}))
        for (title, base), own in kernels.items()
    ]
    many = any(len(point.cases) > 1 for panel in panels[:most] for point in panel.points)
    notes = [
        "Time of the baseline over time of the kernel, all else being equal: above 1x the kernel is faster.",
        f"Marker: the geometric mean of the cases{' of a size' if several else ''}; grey: each case." if many else "",
        f"{'Grey' if many else 'Thin'} line: what the 95 % intervals of both times allow.",
        f"{count(sum(len(p.cases) for panel in panels[:most] for p in panel.points), 'case')}.",
        f"Not drawn: {listed([panel.title for panel in panels[most:]])}; the table has them." if panels[most:] else "",
    ]
    at = f" at {next(iter(places))}" if len(places) == 1 and len(sized) == len(cases) else ""
    return [
        (BySize if several else ByKernel)(
            stem="speedup-by-size" if several else "speedup-by-kernel",
            title=f"Speed-up over the declared baseline{at}",
            caption=" ".join(note for note in notes if note),
            panels=panels[:most],
            run=run,
        )
    ]


def _by_kernel(cases: list[Case], rows: Mapping[int, Row]) -> dict[tuple[str, str], list[Case]]:
    """The cases of each panel, by its title and its baseline's name."""
    dtypes = len({row["dtype"] for row, _ in cases}) > 1
    found: dict[tuple[str, str], list[Case]] = {}
    for row, ratio in cases:
        base = rows[ratio.baseline_row]
        finish = row["finish"] != base["finish"]
        title, baseline = (
            one_line(str(one["kernel"]), 40) + (f" (finish {one['finish']})" if finish else "") for one in (row, base)
        )
        found.setdefault((f"{title}, {row['dtype']}" if dtypes else title, baseline), []).append((row, ratio))
    return found


def _points(cases: list[Case], places: Mapping[str, float]) -> list[Point]:
    by_size: dict[str, list[Case]] = {}
    for row, ratio in cases:
        by_size.setdefault(value_of("size", row) if places else "", []).append((row, ratio))
    return [Point(size, by_size[size]) for size in sorted(by_size, key=lambda size: places.get(size, 0.0))]
