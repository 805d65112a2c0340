"""Drawing the samples of a case: in the order of taking, a marker a round, and beside them how they are distributed."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator
from numpy.typing import NDArray

from runner.report.figures.labels import End, label
from runner.report.figures.multiples import Room, multiples
from runner.report.figures.raw import RawPlot
from runner.report.figures.style import COLOURS, CRIMSON, INK, MARKERS, PALE
from runner.report.text import absent, count, exact

WIDTH, HEIGHT, BESIDE, SHARE = 5.6, 2.5, 1.5, 0.25
"""Of the axes of the samples; width of the histogram; what is between the two. In inches."""

MOST_POINTS, FAR = 250, 8
"""Samples that are drawn as points; quartiles' distances beyond the quartiles from where a sample is at the edge."""


def draw(plot: RawPlot) -> Figure:
    """The figure of a plot."""
    us = plot.samples["us"]
    low, high = _limits(us)
    drawn = _drawn(plot.samples, high)
    notes = " ".join(word for word in (plot.notes, _beyond(us, high), _thinned(len(drawn), len(us))) if word)
    room = Room(WIDTH, HEIGHT, 0.85, SHARE + BESIDE + 1.75, 0, 0)
    figure, (axes,) = multiples(plot.title, notes, 1, 1, room)
    axes.set_xlim(-0.01 * len(us), 1.01 * len(us))
    axes.set_ylim(low, high)
    axes.yaxis.set_major_locator(MaxNLocator(6))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    axes.set_xlabel("sample, in the order of taking")
    axes.set_ylabel(f"µs of one launch{' (emulated)' if plot.emulated else ''}")
    _rounds(axes, plot, drawn, high)
    _histogram(figure, axes, plot, (low, high))
    return figure


def _limits(us: NDArray[np.float64]) -> tuple[float, float]:
    """The range that is drawn: all samples, but for those so far out that the rest would be one line."""
    q1, q3 = np.percentile(us, [25, 75])
    far = float(q3 + FAR * (q3 - q1)) if q3 > q1 else float(us.max())
    low, high = float(us.min()), float(us[us <= far].max())
    margin = 0.06 * (high - low) or 0.05 * high
    return low - margin, high + 2.4 * margin  # above them stand the names of the rounds


def _drawn(samples: NDArray[Any], high: float) -> NDArray[np.int64]:
    """The places of the samples that become points: evenly picked, and all that are far out or throttled."""
    told = np.flatnonzero((samples["us"] > high) | samples["throttled"])[:MOST_POINTS]
    evenly = np.linspace(0, len(samples) - 1, min(MOST_POINTS, len(samples))).round().astype(np.int64)
    return np.union1d(evenly, told)


def _beyond(us: NDArray[np.float64], high: float) -> str:
    far = us[us > high]
    if not len(far):
        return ""
    return f"Triangles at the upper edge: {count(len(far), 'sample')} further up, the longest {exact(far.max())} µs."


def _thinned(drawn: int, samples: int) -> str:
    if drawn == samples:
        return ""
    return f"Points: {drawn:,} of them, evenly picked; the histogram counts the others, too."


def _rounds(axes: Axes, plot: RawPlot, drawn: NDArray[np.int64], high: float) -> None:
    """A colour and a marker a round, with its number above."""
    samples = plot.samples[drawn]
    numbers = list(np.unique(plot.samples["round"]))
    for place, number in enumerate(numbers):
        own = samples["round"] == number
        steady = own & ~samples["throttled"] & (samples["us"] <= high)
        look: dict[str, Any] = {"color": COLOURS[place % len(COLOURS)], "linestyle": "none"}
        axes.plot(drawn[steady], samples["us"][steady], marker=MARKERS[place % len(MARKERS)], markersize=3, **look)
        places = np.flatnonzero(plot.samples["round"] == number)
        if place and len(numbers) <= 40:
            axes.axvline(places[0] - 0.5, color="#bdbdc4", linewidth=0.7)
        if len(numbers) > 1 and place % (1 + len(numbers) // 11) == 0:
            style: dict[str, Any] = {
                "xytext": (0, -7),
                "textcoords": "offset points",
                "ha": "center",
                "va": "top",
                "fontsize": 7.5,
                "color": PALE,
            }
            word = f"round {number}" if len(numbers) < 7 else str(number)
            axes.annotate(word, (float(places.mean()), high), **style)
    throttled = samples["throttled"]
    clipped = np.minimum(samples["us"], high)
    axes.plot(drawn[throttled], clipped[throttled], marker="x", markersize=5, color=CRIMSON, linestyle="none")
    far = (samples["us"] > high) & ~throttled
    edge: dict[str, Any] = {"marker": "^", "markersize": 5, "color": INK, "linestyle": "none", "clip_on": False}
    axes.plot(drawn[far], [high] * int(far.sum()), **edge)


def _histogram(figure: Figure, axes: Axes, plot: RawPlot, limits: tuple[float, float]) -> None:
    """How often each time came, on the same scale; median and quartiles run through both."""
    wide, left = figure.get_figwidth(), axes.get_position()
    beside = figure.add_axes((left.x1 + SHARE / wide, left.y0, BESIDE / wide, left.height))
    us, row = plot.samples["us"], plot.row
    counts, edges = np.histogram(us[us <= limits[1]], bins=24, range=limits)
    beside.stairs(counts, edges, orientation="horizontal", fill=True, color="#8a8a8a")
    beside.set_ylim(*limits)
    beside.set_yticks(axes.get_yticks(), [])
    beside.set_ylim(*limits)
    beside.set_xlim(0, 1.05 * max(counts))
    beside.xaxis.set_major_locator(MaxNLocator(3, integer=True))
    beside.set_xlabel("samples")
    told = {name: row[f"{name}_us"] for name in ("q3", "median", "q1") if not absent(row[f"{name}_us"])}
    ends = [End(f"{name} {exact(us)} µs", beside.get_xlim()[1], us, None) for name, us in told.items()]
    for one in (axes, beside):
        if len(ends) == 3:
            one.axhspan(row["q1_us"], row["q3_us"], color="#0072b2", alpha=0.13, linewidth=0, zorder=0)
        one.axhline(row["median_us"], color=INK, linewidth=1.2, zorder=3)
    label(beside, [end for end in ends if limits[0] <= end.y <= limits[1]], HEIGHT)
