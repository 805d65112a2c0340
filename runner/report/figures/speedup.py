"""The figure of speed-ups over the declared baseline by size: fastest case against fastest case."""

from __future__ import annotations

from dataclasses import dataclass, replace

from runner.display.text import listed, one_line, size_of, value_of
from runner.record.ranking import ratio, steps
from runner.report.figures import chart
from runner.report.figures.chart import PALE, Axis, Chart, Look
from runner.report.figures.figure import ChartFigure, Results, Row, View, positions, x_axis
from runner.report.tables import Case, separating, titles

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
    def cases(self) -> list[Case]:
        """The cases of all points."""
        return [case for point in self.points for case in point.cases]


@dataclass(frozen=True)
class Speedups(ChartFigure):
    """A panel for each kernel, on common axes."""

    section = "baseline"
    panels: list[SpeedupPanel]
    results: Results

    @property
    def view(self) -> View:
        """The chart for the page."""
        return {"kind": "chart", "tall": 220, "least": 300, **self.as_chart().plain}

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

    def as_chart(self) -> Chart:
        """The panels. The y axis covers at least 0.8x to 1.25x, so that a negligible speed-up does not look large."""
        columns = min(3, len(self.panels))
        cases = [case for panel in self.panels for case in panel.cases]
        places = positions([row for row, _ in cases], "size")
        low, high = min(ratio.low for _, ratio in cases), max(ratio.high for _, ratio in cases)
        y = Axis("", min(0.8, 0.93 * low), max(1.25, 1.08 * high), log=True, unit="x", size=8)
        panels = []
        for number, panel in enumerate(self.panels):
            x = x_axis(places, "size", 5, 8)
            x = replace(x, label="") if number + columns < len(self.panels) else x
            title = f"{one_line(panel.title, 42)}\nagainst {one_line(panel.baseline, 34)}"
            panels.append(chart.Panel(title, x, y, self._marks(panel, places), small=True))
        return Chart(panels, columns, 2.1, share_x=True, share_y=True)

    def _marks(self, panel: SpeedupPanel, places: dict[str, float]) -> list[chart.Mark]:
        """Best against best with its intervals, the single pairs in grey below, and the last ratio as a number."""
        stroke, pairs = self.results.looks[panel.kernel], [pair for point in panel.points for pair in point.pairs]
        fastest = [point.fastest for point in panel.points]
        best = self._line(fastest, places, replace(stroke.look(), dash="-", size=4.5), "best against best")
        ends = [one.low for _, one in fastest], [one.high for _, one in fastest]
        return [
            chart.Rule(1, Look(PALE, width=1.1)),
            self._line(pairs, places, Look(GREY, "o", "", size=2.6), "equal parameters"),
            chart.Whiskers(best.x, *ends, [stroke.colour]),
            best,
            chart.Note(best.x[-1], best.y[-1], f"{best.y[-1]:.2f}x", right=8),
        ]

    def _line(self, cases: list[Case], places: dict[str, float], look: Look, word: str) -> chart.Line:
        at = [places[value_of("size", row)] for row, _ in cases]
        tips = [
            f"{one.times:.2f}x ({one.low:.2f} to {one.high:.2f})\nsize {size_of(row)}\n{word}" for row, one in cases
        ]
        return chart.Line(at, [one.times for _, one in cases], look, tips=tips, rows=[row["row"] for row, _ in cases])


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
