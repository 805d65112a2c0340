"""A sheet to draw on, in inches from the upper left corner. Shapes of one look become one path: files stay small."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping
from typing import Any

from matplotlib.axes import Axes
from matplotlib.collections import PathCollection
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.patches import PathPatch
from matplotlib.path import Path
from matplotlib.textpath import TextPath
from matplotlib.transforms import Affine2D

from runner.report.figures.style import INK, PALE

EDGE = 0.12
"""Around a sheet."""

HEAD = 0.08
"""Length of an arrow's head."""

Point = tuple[float, float]


class Sheet:
    """Boxes, lines, arrows and words, gathered and then made into a figure."""

    def __init__(self, looks: Mapping[str, Mapping[str, Any]]) -> None:
        """`looks` names the ways in which a shape may be drawn, in matplotlib's words for a patch."""
        self._looks = looks
        self._shapes: dict[str, list[Path]] = {}
        self._words: list[tuple[Point, str, dict[str, Any]]] = []
        self._digits: dict[tuple[str, float], list[tuple[Point, str]]] = {}

    def box(self, corner: Point, wide: float, high: float, look: str) -> None:
        """A rectangle by its upper left corner."""
        x, y = corner
        self._add(look, (x, y), (x + wide, y), (x + wide, y + high), (x, y + high), closed=True)

    def line(self, look: str, *points: Point) -> None:
        """A line through some points."""
        self._add(look, *points)

    def arrow(self, start: Point, end: Point, look: str) -> None:
        """An arrow; the look of its head is called `LOOK head`."""
        long = math.hypot(end[0] - start[0], end[1] - start[1])
        along = ((end[0] - start[0]) / long, (end[1] - start[1]) / long)
        base = (end[0] - HEAD * along[0], end[1] - HEAD * along[1])
        across = (-along[1] * HEAD * 0.42, along[0] * HEAD * 0.42)
        self.line(look, start, base)
        corners = ((base[0] + across[0], base[1] + across[1]), (base[0] - across[0], base[1] - across[1]))
        self._add(f"{look} head", end, *corners, closed=True)

    def words(self, at: Point, text: str, size: float = 8.5, **style: Any) -> None:
        """Words: by their left end, in the middle of their height, if `style` does not say otherwise."""
        self._words.append((at, text, {"va": "center", "color": INK, "fontsize": size, **style}))

    def number(self, at: Point, number: int, size: float, colour: str = INK) -> None:
        """A number by its middle: as `words`, but with each digit of a size once in the file."""
        text = str(number)
        for place, digit in enumerate(text):
            x = at[0] + (place - (len(text) - 1) / 2) * 0.636 * size / 72  # digits are all of one width
            self._digits.setdefault((digit, size), []).append(((_rounded(x), _rounded(at[1])), colour))

    def figure(self, wide: float, tall: float) -> Figure:
        """What was drawn, on white."""
        wide, tall = (math.ceil(72 * inches) / 72 for inches in (wide, tall))
        figure = Figure(figsize=(wide, tall))
        axes = figure.add_axes((0, 0, 1, 1))
        axes.set(xlim=(0, wide), ylim=(tall, 0))
        axes.axis("off")
        for look, paths in self._shapes.items():
            style = {"facecolor": "none", "edgecolor": "none", "linewidth": 0.8, **self._looks[look]}
            axes.add_patch(PathPatch(Path.make_compound_path(*paths), joinstyle="miter", clip_on=False, **style))
        for at, text, style in self._words:
            axes.text(*at, text, zorder=6, **style)
        for (digit, size), places in self._digits.items():
            _write(figure, axes, digit, size, places)
        return figure

    def _add(self, look: str, *points: Point, closed: bool = False) -> None:
        corners = [(_rounded(x), _rounded(y)) for x, y in points]
        path = Path([*corners, corners[0]] if closed else corners, closed=closed)
        self._shapes.setdefault(look, []).append(path)


def heading(sheet: Sheet, title: str, notes: str, wide: float) -> float:
    """A title and, in lines of that width, notes at the top of a sheet.

    Returns:
        Where what is below may begin.
    """
    sheet.words((EDGE, 0.14), title, 12, va="top", fontweight="bold")
    lines = textwrap.wrap(notes, int((wide - 2 * EDGE) * 14.5))
    for number, line in enumerate(lines):
        sheet.words((EDGE, 0.47 + 0.165 * number), line, color=PALE)
    return 0.5 + 0.165 * len(lines)


def _write(figure: Figure, axes: Axes, digit: str, size: float, places: list[tuple[Point, str]]) -> None:
    """A digit at several places."""
    path = TextPath((0, 0), digit, size=size / 72, prop=FontProperties(family="DejaVu Sans"))
    box = path.get_extents()
    middle = Affine2D().translate(-(box.x0 + box.x1) / 2, -0.365 * size / 72)
    axes.add_collection(
        PathCollection(
            [path.transformed(middle)],
            offsets=[at for at, _ in places],
            offset_transform=axes.transData,
            transform=figure.dpi_scale_trans,
            linewidths=0.0,
            facecolors=[colour for _, colour in places],
            zorder=6,
            clip_on=False,
        )
    )


def _rounded(inches: float) -> float:
    """To a hundredth of a point, which keeps the file short."""
    return round(inches * 7200) / 7200
