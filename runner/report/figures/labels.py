"""Names at the right ends of lines, moved apart where lines end close together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from matplotlib.axes import Axes

from runner.report.figures.style import INK, Stroke

GAP_INCHES = 0.17


@dataclass(frozen=True)
class End:
    """The right end of a line and what stands there; a stroke of None is a limit, not a kernel."""

    text: str
    x: float
    y: float
    stroke: Stroke | None


def label(axes: Axes, ends: list[End], height_inches: float) -> None:
    """Write the names beside the axes, each with a thin leader and the line's own marker."""
    to_axes = axes.transAxes.inverted()
    points = [to_axes.transform(axes.transData.transform((end.x, end.y))) for end in ends]
    heights = apart([float(y) for _, y in points], GAP_INCHES / height_inches)
    for end, point, height in zip(ends, points, heights, strict=True):
        colour = end.stroke.colour if end.stroke else "#5c5c5c"
        style: dict[str, Any] = {"color": colour, "linewidth": 0.7, "transform": axes.transAxes, "clip_on": False}
        axes.plot([float(point[0]) + 0.006, 1.03, 1.045], [float(point[1]), height, height], zorder=1, **style)
        if end.stroke:
            axes.plot([1.045], [height], marker=end.stroke.marker, **style)
        where: dict[str, Any] = {"transform": axes.transAxes, "va": "center", "ha": "left", "fontsize": 8.5}
        axes.text(1.065, height, end.text, color=INK if end.stroke else colour, **where)


def apart(heights: list[float], gap: float) -> list[float]:
    """Heights as near as possible to the wanted ones, at least a gap apart and within 0 to 1 while there is room."""
    order = sorted(range(len(heights)), key=lambda n: heights[n])
    groups: list[tuple[float, list[int]]] = []  # the lowest height of a stack, and who is in it, bottom up
    for n in order:
        groups.append((heights[n], [n]))
        while len(groups) > 1 and groups[-1][0] < groups[-2][0] + gap * len(groups[-2][1]):
            members = [*groups[-2][1], *groups.pop()[1]]
            middle = sum(heights[m] for m in members) / len(members)
            groups[-1] = (_within(middle - gap * (len(members) - 1) / 2, gap * (len(members) - 1)), members)
    placed = dict.fromkeys(order, 0.0)
    for lowest, members in groups:
        placed.update({member: lowest + gap * step for step, member in enumerate(members)})
    return [placed[n] for n in range(len(heights))]


def _within(lowest: float, extent: float) -> float:
    return max(0.0, min(lowest, 1.0 - extent))
