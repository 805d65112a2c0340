"""Sheets of axes, and axes as a reader of kernel timings expects them: sizes as powers of two, plain numbers."""

from __future__ import annotations

import math
import textwrap
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from runner.report.figures.figure import INK, PALE, Row, Stroke
from runner.report.text import one_line, power, value_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

WIDE = 9.0
"""The width of every figure in inches: the page scales all to one width, so their letters are of one size."""


class End(NamedTuple):
    """The right end of a line and its name. A stroke of None is a limit, not a kernel.

    A line that ends, or is a single point, far from its name has no leader to it: that would look like its course.
    """

    text: str
    x: float
    y: float
    stroke: Stroke | None = None
    leader: bool = True


def plain(value: float, _: object = None) -> str:
    """A tick's number without powers of ten."""
    return f"{value:,.10g}"


def sheet(title: str, panels: int, columns: int, height: float, **grid: Any) -> tuple[Figure, list[Axes]]:
    """A figure with so many panels in so many columns; `height` is that of a row of panels in inches, with labels."""
    from matplotlib.figure import Figure  # noqa: PLC0415

    lines = math.ceil(panels / columns)
    figure = Figure(figsize=(WIDE, 0.4 + lines * height), layout="constrained")
    figure.suptitle(textwrap.fill(title, 76), x=0.01, ha="left", fontsize=12, fontweight="bold")
    every = figure.subplots(lines, columns, squeeze=False, **grid).ravel()
    for axes in every[panels:]:
        axes.remove()
    for axes in every[max(0, panels - columns) : panels]:
        axes.tick_params(labelbottom=True)
    return figure, list(every[:panels])


def positions(rows: list[Row], x: str) -> dict[str, float]:
    """The position of each value on the x axis: the logarithm of a size; other values stand one after another."""
    values = {value_of(x, row): row for row in rows}
    if x == "size" and len({row["size"] for row in values.values()}) == len(values):
        return {value: math.log2(row["size"] or 0.5) for value, row in values.items()}
    ordered = sorted(values, key=lambda value: _order(x, values[value]))
    return {value: float(place) for place, value in enumerate(ordered)}


def set_x(axes: Axes, places: dict[str, float], x: str, most: int = 11) -> None:
    """Set ticks, label and limits of the x axis; of sizes at most that many ticks."""
    from matplotlib.ticker import FixedLocator  # noqa: PLC0415

    low, high = min(places.values()), max(places.values())
    margin = 0.04 * (high - low) or 0.5
    axes.set_xlim(low - margin, high + margin)
    shapes = all("x" in value for value in places)
    ticks = {place: one_line(value, 14) for value, place in places.items()}
    powers = [float(k) for k in range(math.ceil(low - 1e-9), math.floor(high + 1e-9) + 1)]
    if x == "size" and not shapes and len(powers) > 1:
        there = [k for k in powers if k in ticks]
        powers = there if len(there) > 1 else powers
        ticks = {k: power(2 ** int(k)) if k >= 0 else "0" for k in powers[:: 1 + (len(powers) - 1) // most]}
    axes.xaxis.set_major_locator(FixedLocator(list(ticks)))
    steep = sum(map(len, ticks.values())) > 5 * most
    axes.set_xticklabels(ticks.values(), rotation=35 if steep else 0, ha="right" if steep else "center")
    names = {"size": f"size ({'rows x columns' if shapes else 'elements'})", "block": "block (threads)"}
    axes.set_xlabel({**names, "width": "width (lanes)"}.get(x, one_line(x, 30)))


def set_ticks(axis: Axis, low: float, high: float, unit: str = "") -> None:
    """Set limits and ticks of a logarithmic axis, at round numbers. 1 is a tick wherever it is in the range."""
    from matplotlib.ticker import FixedLocator, LogLocator, MaxNLocator, NullLocator  # noqa: PLC0415

    axis.set_view_interval(low, high, ignore=True)
    ticks = [tick for tick in MaxNLocator(5, steps=[1, 2, 5, 10]).tick_values(low, high) if tick > 0]
    wide = LogLocator(subs=(1, 2, 5) if high / low < 3000 else (1,), numticks=20)
    axis.set_major_locator(FixedLocator(ticks) if high / low < 6 else wide)
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(lambda value, _: f"{plain(value)}{unit}")


def name_ends(axes: Axes, ends: list[End], gap: float) -> None:
    """Write names at the right of axes whose limits are final, each joined to the end of its line.

    Names are at least `gap` apart, a share of the axes' height.
    """
    to_axes = axes.transScale + axes.transLimits
    heights = apart([float(to_axes.transform((end.x, end.y))[1]) for end in ends], gap)
    for end, height in zip(ends, heights, strict=True):
        colour, marker = (end.stroke.colour, end.stroke.marker) if end.stroke else (PALE, "")
        leader = {"arrowstyle": "-", "color": colour, "linewidth": 0.7, "shrinkA": 0, "shrinkB": 4}
        if end.leader:
            axes.annotate("", (end.x, end.y), (1.03, height), "data", "axes fraction", leader, annotation_clip=False)
        axes.plot([1.04], [height], marker, color=colour, transform=axes.transAxes, clip_on=False)
        ink = INK if end.stroke else PALE
        axes.text(1.06, height, end.text, transform=axes.transAxes, va="center", fontsize=8.5, color=ink)


def apart(heights: list[float], gap: float) -> list[float]:
    """Heights at least a gap apart, in the order of the given ones and around them, from 0 to 1 if there is room."""
    order = np.argsort(heights, kind="stable")
    steps = gap * np.arange(len(heights))
    wanted = np.asarray(heights, float)[order] - steps  # less its steps, a height only must not be below the one before
    raised = np.maximum.accumulate(wanted)
    lowered = np.minimum.accumulate(wanted[::-1])[::-1]
    placed = np.maximum(np.minimum((raised + lowered) / 2, 1 - steps[-1:]), 0) + steps
    return [float(height) for height in placed[np.argsort(order)]]


def whole(text: Any) -> int | None:
    """A whole number in any of C's notations; None if it is not one."""
    try:
        return int(str(text), 0)
    except ValueError:
        return None


def _order(x: str, row: Row) -> tuple[Any, ...]:
    value = row[x]
    if x == "size":
        return int(row["size"]), value_of(x, row)
    if x == "block":
        sides = [whole(row[name]) for name in ("block_x", "block_y")]
        return math.prod(side or 1 for side in sides) if sides[0] else whole(value) or -1, value
    number = value if isinstance(value, float) else whole(value)
    return (1, 0, str(value)) if number is None else (0, number, "")
