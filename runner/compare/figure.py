"""The figure of a comparison: the speed-up of each case, one panel per kernel, one colour and marker per run."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from runner.compare.changes import Change, Comparison, Word
from runner.compare.runs import LAST, Row, varying
from runner.display.text import count, listed, one_line, sentences, value_of
from runner.report.figures import chart
from runner.report.figures.chart import PALE, Axis, Chart, Look
from runner.report.figures.drawing import save
from runner.report.figures.figure import data_url, group, looks, positions, x_axis
from runner.statistics import Decision

MAX_PANELS = 12
BAND = "#d4d4d4"
CHANGED = frozenset((Word.FASTER, Word.SLOWER))

Point = tuple[int, Change, Decision]
"""The number of a run, the change of one of its cases, and the decision on its times."""


@dataclass(frozen=True)
class Picture:
    """The drawn figure."""

    data: str  # data URL of the SVG
    title: str
    note: str  # explains the marks


def points_by_kernel(comparisons: Sequence[Comparison]) -> dict[str, list[Point]]:
    """Group the cases with times in two runs by kernel; kernels with changes come first."""
    numbered = ((number, change) for number, comparison in enumerate(comparisons) for change in comparison.changes)
    timed = [(number, change, change.decision) for number, change in numbered if change.decision]
    points = group(timed, lambda point: str(point[1].row["kernel"]))
    changed = {kernel: any(change.word in CHANGED for _, change, _ in points[kernel]) for kernel in points}
    return {kernel: points[kernel] for kernel in sorted(points, key=lambda kernel: not changed[kernel])}


def draw(comparisons: Sequence[Comparison]) -> Picture | None:
    """Draw the figure; `None` if no case has two measured times. The same comparison gives the same bytes."""
    every = points_by_kernel(comparisons)
    if not every:
        return None
    shown = dict(itertools.islice(every.items(), MAX_PANELS))
    base, runs = comparisons[0].base, [comparison.other.short for comparison in comparisons]
    title = f"Speed against {base.short}: above 1x is faster"
    svg, _ = save(title, _chart(shown, base.parameters, runs), png=False)
    further = _names([change.row for points in shown.values() for _, change, _ in points], base.parameters)[1:]
    note = sentences(
        f"Side by side: cases that differ in {listed(further)}." if further else "",
        "Filled: faster or slower. Hollow: the same, or inconclusive.",
        "Bars: 95 % intervals. Grey: changes that are too small to count.",
        f"{count(len(every) - len(shown), 'further kernel')} only in the table." if len(every) > len(shown) else "",
    )
    return Picture(data_url(svg), title, note)


def _chart(shown: dict[str, list[Point]], parameters: Sequence[str], runs: Sequence[str]) -> Chart:
    columns = min(2, len(shown))
    styles = list(zip(runs, looks([str(n) for n in range(len(runs))]).values(), strict=True))
    panels = []
    for number, (kernel, points) in enumerate(shown.items()):
        panel = _panel(points, parameters, styles)
        label = "" if number % columns else "speed-up (more is faster)"
        panels.append(replace(panel, title=one_line(kernel, 44), y=replace(panel.y, label=label)))
    return Chart(panels, columns, 2.7, legend="left", legend_columns=3)


def _panel(points: Sequence[Point], parameters: Sequence[str], styles: Sequence[tuple[str, Look]]) -> chart.Panel:
    axis, x = _places([change.row for _, change, _ in points], parameters)
    speeds, lows, highs = zip(*(_ends(decision) for *_, decision in points), strict=True)
    most = max(1.012, *highs, *(1 / low for low in lows)) ** 1.12
    bands = [1 + decision.threshold for *_, decision in points]
    colours = [styles[number][1].colour for number, *_ in points]
    marks: list[chart.Mark] = [
        chart.Whiskers(x, [1 / b for b in bands], bands, [BAND], 7, label="too small to count"),
        chart.Rule(1, Look(PALE, width=1.1)),
        chart.Whiskers(x, lows, highs, colours, 1.6),
    ]
    for number, (run, style) in enumerate(styles):
        for changed in (False, True):
            own = [n for n, (k, c, _) in enumerate(points) if k == number and (c.word in CHANGED) == changed]
            look = replace(style, dash="", hollow=not changed)
            marks.append(chart.Line([x[n] for n in own], [speeds[n] for n in own], look, run if changed else ""))
    return chart.Panel("", axis, Axis("", 1 / most, most, log=True, unit="x"), marks)


def _places(rows: list[Row], parameters: Sequence[str]) -> tuple[Axis, list[float]]:
    """The x axis, and each point's place: by its size, or by what else varies; those of one value are side by side."""
    x = next(iter(_names(rows, parameters)), "block")
    values = positions(rows, x)
    step = min((b - a for a, b in itertools.pairwise(sorted(values.values()))), default=1.0)
    places = [0.0] * len(rows)
    for place, members in group(range(len(rows)), lambda n: values[value_of(x, rows[n])]).items():
        for k, n in enumerate(members):
            places[n] = place + 0.6 * step * ((k + 0.5) / len(members) - 0.5)
    margin = 0.06 * (max(places) - min(places)) + 0.25 * step
    return replace(x_axis(values, x, 7), low=min(places) - margin, high=max(places) + margin), places


def _names(rows: Sequence[Row], parameters: Sequence[str]) -> list[str]:
    """The parameters that vary; the first is the x axis."""
    return [name for name in varying(rows, parameters) if name not in ("kernel", *LAST)]


def _ends(d: Decision) -> tuple[float, float, float]:
    """The speed-up and the ends of its interval; without an interval, the speed-up three times."""
    low, high = (1 / (d.change if math.isnan(end) else end) for end in (d.high, d.low))
    return 1 / d.change, low, high
