"""The figure of a comparison: the speed-up of each case, one panel per kernel, one colour and marker per run."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from runner.compare.changes import Change, Comparison, Word
from runner.compare.runs import LAST, Row, varying
from runner.display.text import count, listed, one_line, value_of
from runner.report.figures.figure import PALE, Stroke, data_url, positions, saved, set_ticks, set_x, sheet, strokes
from runner.statistics import Decision

MOST_PANELS = 12
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


def panels(comparisons: Sequence[Comparison]) -> dict[str, list[Point]]:
    """Group the cases with times in two runs by kernel; kernels with changes come first."""
    found: dict[str, list[Point]] = {}
    for number, comparison in enumerate(comparisons):
        for change in comparison.changes:
            if change.decision:
                found.setdefault(str(change.row["kernel"]), []).append((number, change, change.decision))
    steady = {kernel: not any(change.word in CHANGED for _, change, _ in points) for kernel, points in found.items()}
    return {kernel: found[kernel] for kernel in sorted(found, key=lambda kernel: steady[kernel])}


def draw(comparisons: Sequence[Comparison]) -> Picture | None:
    """Draw the figure; `None` if no case has two measured times. The same comparison gives the same bytes."""
    every = panels(comparisons)
    if not every:
        return None
    shown = dict(itertools.islice(every.items(), MOST_PANELS))
    base, runs = comparisons[0].base, [comparison.other.short for comparison in comparisons]
    title = f"Speed against {base.short}: above 1x is faster"
    svg, _ = saved(lambda: _figure(title, shown, base.parameters, runs), png=False)
    further = _names([change.row for points in shown.values() for _, change, _ in points], base.parameters)[1:]
    notes = [
        f"Side by side: cases that differ in {listed(further)}." if further else "",
        "Filled: faster or slower. Hollow: the same, or inconclusive.",
        "Bars: 95 % intervals. Grey: changes that are too small to count.",
        f"{count(len(every) - len(shown), 'further kernel')} only in the table." if len(every) > len(shown) else "",
    ]
    return Picture(data_url(svg), title, " ".join(filter(None, notes)))


def _figure(title: str, shown: dict[str, list[Point]], parameters: Sequence[str], runs: Sequence[str]) -> Figure:
    columns = min(2, len(shown))
    figure, every = sheet(title, len(shown), columns, 2.7)
    looks = list(strokes([str(n) for n in range(len(runs))]).values())
    for number, (axes, (kernel, points)) in enumerate(zip(every, shown.items(), strict=True)):
        axes.set_title(one_line(kernel, 44))
        _panel(axes, points, parameters, list(zip(runs, looks, strict=True)))
        axes.set_ylabel("" if number % columns else "speed-up (more is faster)")
    figure.legend(*every[0].get_legend_handles_labels(), loc="outside lower left", ncols=3)
    return figure


def _panel(axes: Axes, points: Sequence[Point], parameters: Sequence[str], looks: Sequence[tuple[str, Stroke]]) -> None:
    x = _set_x(axes, [change.row for _, change, _ in points], parameters)
    speeds, lows, highs = zip(*(_ends(decision) for *_, decision in points), strict=True)
    most = max(1.012, *highs, *(1 / low for low in lows)) ** 1.12
    axes.set_yscale("log")
    set_ticks(axes.yaxis, 1 / most, most, "x")
    axes.axhline(1, color=PALE, linewidth=1.1)
    for number, (run, look) in enumerate(looks):
        for changed in (False, True):
            mine = [n for n, (of, c, _) in enumerate(points) if of == number and (c.word in CHANGED) == changed]
            style: dict[str, Any] = {"color": look.colour, "marker": look.marker, "linestyle": "none", "zorder": 3}
            style |= {"fillstyle": "full", "label": run} if changed else {"fillstyle": "none"}
            axes.plot([x[n] for n in mine], [speeds[n] for n in mine], **style)
    colours = [look.colour for _, look in looks]
    axes.vlines(x, lows, highs, color=[colours[number] for number, *_ in points], zorder=2)
    bands = [1 + decision.threshold for *_, decision in points]
    axes.vlines(x, [1 / b for b in bands], bands, color=BAND, linewidth=7, zorder=1, label="too small to count")


def _set_x(axes: Axes, rows: list[Row], parameters: Sequence[str]) -> list[float]:
    """Compute the x position of each point: by size, or else by what varies. Points of one value are side by side."""
    x = next(iter(_names(rows, parameters)), "block")
    values = positions(rows, x)
    set_x(axes, values, x, 7)
    step = min((b - a for a, b in itertools.pairwise(sorted(values.values()))), default=1.0)
    beside: dict[float, list[int]] = {}
    for n, row in enumerate(rows):
        beside.setdefault(values[value_of(x, row)], []).append(n)
    found = [0.0] * len(rows)
    for place, members in beside.items():
        for k, n in enumerate(members):
            found[n] = place + 0.6 * step * ((k + 0.5) / len(members) - 0.5)
    margin = 0.06 * (max(found) - min(found)) + 0.25 * step
    axes.set_xlim(min(found) - margin, max(found) + margin)
    return found


def _names(rows: Sequence[Row], parameters: Sequence[str]) -> list[str]:
    """The parameters that vary; the first is the x axis."""
    return [name for name in varying(rows, parameters) if name not in ("kernel", *LAST)]


def _ends(d: Decision) -> tuple[float, float, float]:
    """The speed-up and the ends of its interval; without an interval, the speed-up three times."""
    low, high = (1 / (d.change if math.isnan(end) else end) for end in (d.high, d.low))
    return 1 / d.change, low, high
