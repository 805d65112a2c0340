"""The figure of speed-ups over the declared baseline by size: fastest case against fastest case."""

from __future__ import annotations

from dataclasses import dataclass, replace

from runner.display.text import listed, one_line, sentences, size_of, value_of
from runner.record.ranking import Ratio, ratio, steps
from runner.report.figures import chart
from runner.report.figures.chart import PALE, Axis, Chart, Look
from runner.report.figures.figure import Figure, Results, Row, View, group, positions, x_axis
from runner.report.tables import separating_columns, titles

MAX_PANELS, GREY = 12, "#9a9aa2"

Case = tuple[Row, Ratio]


@dataclass(frozen=True)
class SizePoint:
    """A kernel at a size: its fastest case against the baseline's fastest, and pairs with equal parameters."""

    fastest: Case
    pairs: list[Case]


@dataclass(frozen=True)
class SpeedupPanel:
    """A kernel, its title in the figure, its baseline, and one point per size."""

    kernel: str
    title: str
    baseline: str
    points: list[SizePoint]


@dataclass(frozen=True)
class Speedups(Figure):
    """A panel for each kernel, on common axes."""

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
        cases = [case for p in self.panels for point in p.points for case in (point.fastest, *point.pairs)]
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
        look, pairs = self.results.looks[panel.kernel], [pair for point in panel.points for pair in point.pairs]
        fastest = [point.fastest for point in panel.points]
        best = _line(fastest, places, replace(look, dash="-", size=4.5), "best against best")
        ends = [ratio.low for _, ratio in fastest], [ratio.high for _, ratio in fastest]
        return [
            chart.Rule(1, Look(PALE, width=1.1)),
            _line(pairs, places, Look(GREY, "o", "", size=2.6), "equal parameters"),
            chart.Whiskers(best.x, *ends, [look.colour]),
            best,
            chart.Note(best.x[-1], best.y[-1], f"{best.y[-1]:.2f}x", right=8),
        ]


def _line(cases: list[Case], places: dict[str, float], look: Look, word: str) -> chart.Line:
    x = [places[value_of("size", row)] for row, _ in cases]
    tips = [f"{r.times:.2f}x ({r.low:.2f} to {r.high:.2f})\nsize {size_of(row)}\n{word}" for row, r in cases]
    return chart.Line(x, [r.times for _, r in cases], look, tips=tips, rows=[row["row"] for row, _ in cases])


def figures(results: Results) -> list[Speedups]:
    """Choose the figure of a run with speed-ups at several sizes; tables and bars show those of a single size."""
    rows = results.run.by_number
    pairs = group(((rows[number], pair) for number, pair in results.ratios.items()), lambda case: _key(case[0]))
    panels, columns = [], separating_columns(results.run)
    for step in steps(results.run):
        points = [
            SizePoint((row, ratio(step.against[size], row)), pairs.get(_key(row), []))
            for size, row in step.fastest.items()
            if size and size in step.against
        ]
        if points:
            title, baseline = titles(columns, points[0].fastest[0], next(iter(step.against.values())))
            panels.append(SpeedupPanel(step.kernel, title, baseline, points))
    if len({size_of(point.fastest[0]) for panel in panels for point in panel.points}) < 2:
        return []
    drawn, others = panels[:MAX_PANELS], [one_line(panel.title, 60) for panel in panels[MAX_PANELS:]]
    several = any(len(point.pairs) > 1 for panel in drawn for point in panel.points)
    caption = sentences(
        "Best against best: the baseline's fastest case at a size, divided by the kernel's fastest.",
        "Above 1x the kernel is faster.",
        "Grey: each case against the baseline's case with the same parameters." if several else "",
        "Thin line: range implied by both 95 % intervals.",
        f"Not drawn: {listed(others)}; the table has them." if others else "",
    )
    return [Speedups("baseline", "speedup-by-size", "Speed-up over the declared baseline", caption, drawn, results)]


def _key(row: Row) -> tuple[str, ...]:
    """The key of the pairs of a point."""
    return row["device"], row["place"], row["dtype"], row["kernel"], size_of(row)
