"""Drawing speed-ups over a baseline: a panel a kernel against the size, or a line a kernel where there is one size."""

from __future__ import annotations

import math
from typing import Any

from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from runner.report.figures.axes import set_x
from runner.report.figures.multiples import Room, multiples
from runner.report.figures.speedup import SpeedupPanel, SpeedupPlot, SpeedupPoint
from runner.report.figures.style import PALE, Stroke
from runner.report.text import one_line

LETTER, COLUMNS, GREY = 0.078, 3, "#9a9aa2"
TICKS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
FINE = (0.2, 0.3, 0.5, 0.7, 1, 1.5, 2, 3, 5, 7, 10, 15, 20)
FINEST = (0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.1, 1.2, 1.3, 1.4, 1.5, 1.75, 2)
"""Ticks of a logarithmic axis, of one that spans little, and of one that hardly spans anything."""


def draw(plot: SpeedupPlot, strokes: dict[str, Stroke]) -> Figure:
    """The figure of a plot."""
    return _by_size(plot, strokes) if plot.sizes else _by_kernel(plot, strokes)


def _by_size(plot: SpeedupPlot, strokes: dict[str, Stroke]) -> Figure:
    columns = min(COLUMNS, len(plot.panels))
    room = Room(
        width=2.55 if columns > 1 else 4.4, height=1.5, left=0.72, right=0.62, beside=0.62, above=0.62, head=0.3
    )
    figure, all_axes = multiples(plot.title, plot.notes, len(plot.panels), columns, room)
    limits = _limits(plot)
    for number, (axes, panel) in enumerate(zip(all_axes, plot.panels, strict=True)):
        told = f"{one_line(panel.title, 42)}\nagainst {one_line(panel.baseline, 34)}"
        axes.set_title(told, loc="left", fontsize=8.5, linespacing=1.25)
        set_x(axes, plot.sizes, "size")
        _few_sizes(axes)
        axes.set_yscale("log")
        axes.set_ylim(*limits)
        _set_ticks(axes.yaxis, limits)
        axes.tick_params(labelsize=8)
        axes.axhline(1, color=PALE, linewidth=1.1)
        if number % columns:
            axes.set_yticklabels([])
        if number + columns < len(plot.panels):
            axes.set_xticklabels([])
            axes.set_xlabel("")
        _line(axes, plot, panel, strokes[panel.kernel])
    return figure


def _line(axes: Axes, plot: SpeedupPlot, panel: SpeedupPanel, stroke: Stroke) -> None:
    """A kernel's means, the single cases behind them with their intervals, and the last mean in digits."""
    x = [plot.sizes[point.size] for point in panel.points]
    cases = [(place, ratio) for place, point in zip(x, panel.points, strict=True) for _, ratio in point.cases]
    pale = len(cases) > len(x)
    ends = [(at, y) for at, ratio in cases for y in (ratio.low, ratio.high, math.nan)]
    axes.plot(*zip(*ends, strict=True), color=GREY if pale else stroke.colour, linewidth=1)
    if pale:
        dots = [(at, ratio.times) for at, ratio in cases]
        axes.plot(*zip(*dots, strict=True), color=GREY, marker="o", markersize=2.6, linestyle="none")
    axes.plot(x, [point.times for point in panel.points], color=stroke.colour, marker=stroke.marker, markersize=4.5)
    last = panel.points[-1]
    at: dict[str, Any] = {"xytext": (10, 0), "textcoords": "offset points", "va": "center", "fontsize": 8.5}
    axes.annotate(f"{last.times:.2f}x", (x[-1], last.times), annotation_clip=False, **at)


def _by_kernel(plot: SpeedupPlot, strokes: dict[str, Stroke]) -> Figure:
    points = [panel.points[0] for panel in plot.panels]
    names = [f"{panel.title} against {panel.baseline}" for panel in plot.panels]
    left = LETTER * max(map(len, names)) + 0.25
    right = 0.071 * max(len(_told(point)) for point in points) + 0.2
    room = Room(4.4, 0.32 * len(points) + 0.15, left, right, 0, 0)
    figure, (axes,) = multiples(plot.title, plot.notes, 1, 1, room)
    limits = _limits(plot)
    axes.set_xscale("log")
    axes.set_xlim(*limits)
    _set_ticks(axes.xaxis, limits)
    axes.set_xlabel("speed-up (times as fast as the baseline)")
    axes.axvline(1, color=PALE, linewidth=1.1)
    axes.grid(visible=False, axis="y")
    axes.set_yticks(range(len(points)), names)
    axes.set_ylim(len(points) - 0.4, -0.6)
    for place, (panel, point) in enumerate(zip(plot.panels, points, strict=True)):
        stroke = strokes[panel.kernel]
        pale = len(point.cases) > 1
        axes.barh(place, point.times - 1, left=1, height=0.5, color=stroke.colour, alpha=0.3)
        if pale:
            singles = [ratio.times for _, ratio in point.cases]
            axes.plot(singles, [place] * len(singles), color=GREY, marker="|", markersize=8, linestyle="none")
        axes.plot([point.low, point.high], [place, place], color=GREY if pale else stroke.colour, linewidth=1.2)
        axes.plot([point.times], [place], color=stroke.colour, marker=stroke.marker, markersize=6)
        at: dict[str, Any] = {"xytext": (8, 0), "textcoords": "offset points", "va": "center", "fontsize": 8.5}
        axes.annotate(_told(point), (limits[1], place), annotation_clip=False, **at)
    return figure


def _told(point: SpeedupPoint) -> str:
    cases = f", {len(point.cases)} cases" if len(point.cases) > 1 else ""
    return f"{point.times:.2f}x ({point.low:.2f} to {point.high:.2f}{cases})"


def _limits(plot: SpeedupPlot) -> tuple[float, float]:
    """Wide enough for all ranges, for 1x, and for not blowing up what is next to nothing."""
    points = [point for panel in plot.panels for point in panel.points]
    return min(0.8, *(0.93 * p.low for p in points)), max(1.25, *(1.08 * p.high for p in points))


def _set_ticks(axis: Axis, limits: tuple[float, float]) -> None:
    span = limits[1] / limits[0]
    wanted = FINEST if span < 2.2 else FINE if span < 20 else TICKS
    ticks = [tick for tick in wanted if limits[0] <= tick <= limits[1]]
    axis.set_major_locator(FixedLocator(ticks))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}x"))


def _few_sizes(axes: Axes) -> None:
    """Every other size, as a small panel has no room for more than five."""
    labels = [label.get_text() for label in axes.get_xticklabels()]
    places = list(axes.get_xticks())
    step = 1 + len(labels) // 6
    axes.set_xticks(places[::step], labels[::step], rotation=0, ha="center")
