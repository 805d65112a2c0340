"""The figure of speed-ups over the declared baseline by size: fastest case against fastest case."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from runner.display.text import listed, one_line, size_of, value_of
from runner.record.ranking import ratio, steps
from runner.report.figures.figure import PALE, Figure, Results, Row, View, positions, set_ticks, set_x, sheet
from runner.report.tables import Case, separating, titles

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

MOST_PANELS, GREY = 12, "#9a9aa2"


@dataclass(frozen=True)
class SizePoint:
    """A kernel at a size: its fastest case against the baseline's fastest, and pairs with equal parameters."""

    fastest: Case
    pairs: list[Case]

    @property
    def cases(self) -> list[Case]:
        """The cases that are drawn."""
        return [self.fastest, *self.pairs]


@dataclass(frozen=True)
class SpeedupPanel:
    """A kernel, its title in the figure, its baseline, and one point per size."""

    kernel: str
    title: str
    baseline: str
    points: list[SizePoint]

    @property
    def drawn(self) -> list[list[Any]]:
        """The cases for the page: size as text and in elements, ratio and its interval, 1 for the best, row number."""
        return [
            [size_of(row), int(row["size"]), *(round(x, 4) for x in (one.times, one.low, one.high)), best, row["row"]]
            for point in self.points
            for best, cases in ((1, [point.fastest]), (0, point.pairs))
            for row, one in cases
        ]

    @property
    def cases(self) -> list[Case]:
        """The cases of all points."""
        return [case for point in self.points for case in point.cases]


@dataclass(frozen=True)
class Speedups(Figure):
    """One panel per kernel, with common axes."""

    section = "baseline"
    panels: list[SpeedupPanel]
    results: Results

    @property
    def view(self) -> View:
        """The panels for the page."""
        panels = [{"title": f"{panel.title} against {panel.baseline}", "points": panel.drawn} for panel in self.panels]
        return {"kind": "speedup", "panels": panels}

    def rows(self) -> list[Row]:
        """One row per kernel and size, best against best, and one per pair with equal parameters."""
        return [
            {
                "panel": panel.title,
                "compared": compared,
                **self.results.identity(row),
                "baseline": row["baseline"],
                "speedup": ratio.times,
                "speedup_low": ratio.low,
                "speedup_high": ratio.high,
            }
            for panel in self.panels
            for point in panel.points
            for compared, cases in (("best against best", [point.fastest]), ("equal parameters", point.pairs))
            for row, ratio in cases
        ]

    def draw(self) -> Drawing:
        """Draw the panels. The axis covers at least 0.8x to 1.25x, so that small differences look small."""
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

    def _line(self, axes: Axes, panel: SpeedupPanel, places: dict[str, float]) -> None:
        """Draw best against best with intervals, the pairs in grey behind, and write the last ratio."""
        stroke, pairs = self.results.looks[panel.kernel], [pair for point in panel.points for pair in point.pairs]
        at = [places[value_of("size", row)] for row, _ in pairs]
        axes.plot(at, [ratio.times for _, ratio in pairs], "o", color=GREY, markersize=2.6)
        best = [point.fastest[1] for point in panel.points]
        x, times = [places[value_of("size", point.fastest[0])] for point in panel.points], [one.times for one in best]
        axes.vlines(x, [one.low for one in best], [one.high for one in best], color=stroke.colour, linewidth=1)
        axes.plot(x, times, color=stroke.colour, marker=stroke.marker, markersize=4.5)
        last = f"{times[-1]:.2f}x", (x[-1], times[-1]), (8, 0)
        axes.annotate(*last, textcoords="offset points", va="center", fontsize=8.5, annotation_clip=False)


def figures(results: Results) -> list[Speedups]:
    """Choose the figure of a run with speed-ups at several sizes; tables and bars show those of a single size."""
    every = {row["row"]: row for row in results.run.rows}
    pairs: dict[tuple[str, ...], list[Case]] = {}
    for number, found in results.ratios.items():
        pairs.setdefault(_key(every[number]), []).append((every[number], found))
    panels = []
    for step in steps(results.run):
        points = [
            SizePoint((row, ratio(step.against[size], row)), pairs.get(_key(row), []))
            for size, row in step.fastest.items()
            if size and size in step.against
        ]
        if points:
            base = next(iter(step.against.values()))
            title, against = titles(separating(results.run), points[0].fastest[0], base)
            panels.append(SpeedupPanel(step.kernel, title, against, points))
    if len({size_of(point.fastest[0]) for panel in panels for point in panel.points}) < 2:
        return []
    drawn, others = panels[:MOST_PANELS], [one_line(panel.title, 60) for panel in panels[MOST_PANELS:]]
    several = any(len(point.pairs) > 1 for panel in drawn for point in panel.points)
    notes = [
        "Best against best: the baseline's fastest case at a size, divided by the kernel's fastest.",
        "Above 1x the kernel is faster.",
        "Grey: each case against the baseline's case with the same parameters." if several else "",
        "Thin line: range implied by both 95 % intervals.",
        f"Not drawn: {listed(others)}; the table has them." if others else "",
    ]
    caption = " ".join(filter(None, notes))
    return [Speedups("speedup-by-size", "Speed-up over the declared baseline", caption, drawn, results)]


def _key(row: Row) -> tuple[str, ...]:
    """The key of the pairs of a point."""
    return row["device"], row["place"], row["dtype"], row["kernel"], size_of(row)
