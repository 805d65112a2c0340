"""Drawing heat maps: a panel a kernel, a number in every cell, the fastest of a column bold in a frame."""

from __future__ import annotations

import math
import textwrap
from dataclasses import dataclass
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.patches import PathPatch
from matplotlib.path import Path

from runner.report.figures.digits import Number, rounded, write_numbers
from runner.report.figures.heat_cells import HeatCell
from runner.report.figures.heat_map import HeatPlot
from runner.report.figures.style import INK, PALE
from runner.report.text import one_line

EDGE, LETTER, TITLE, CELL, TALL, WIDEST = 0.12, 0.068, 0.092, (0.36, 0.52), 0.25, 10.8
"""Around the figure; a letter of a label, and of a title; width of a cell, without and with words in it; its height;
the widest figure whose letters a page need not shrink. In inches."""

BETWEEN, HEAD, FOOT, KEY = (0.28, 0.34), 0.24, 0.2, 0.62
"""Between panels, beside and above one another; for a panel's title; for the names of the columns; for the key."""

LEAST = 50
"""Percent that have the darkest colour, as have all below: what matters happens above."""

INKS = {"dark": "#000000", "light": "#ffffff", "best": "#000000"}
SMALL: dict[str, Any] = {"fontsize": 8, "color": INK}

Box = tuple[float, float, float, float]


@dataclass(frozen=True)
class _Layout:
    """Where the panels stand: how many beside one another, widths of a panel and a cell, and where the first begins."""

    columns: int
    panel: float
    cell: float
    left: float
    top: float

    def corner(self, plot: HeatPlot, number: int) -> tuple[float, float]:
        """The upper left corner of a panel's cells."""
        line, column = divmod(number, self.columns)
        return (
            self.left + column * (self.panel + BETWEEN[0]),
            self.top + line * (TALL * len(plot.lines) + HEAD + BETWEEN[1]) + HEAD,
        )


def draw(plot: HeatPlot) -> Figure:
    """The figure of a plot."""
    cell = max(CELL[any(_words(plot))], LETTER * max(len(one_line(name, 14)) for name in plot.columns) + 0.08)
    left = EDGE + LETTER * max(len(one_line(name, 14)) for name in plot.lines) + 0.34
    one = max(cell * len(plot.columns), TITLE * max(len(one_line(panel.title, 48)) for panel in plot.panels))
    columns = max(1, min(3, len(plot.panels), int((WIDEST - left - EDGE) / (one + BETWEEN[0]))))
    wide = math.ceil(72 * max(7.2, left + columns * (one + BETWEEN[0]) - BETWEEN[0] + EDGE)) / 72
    notes = textwrap.wrap(plot.notes, int(wide * 15.2))
    layout = _Layout(columns, one, cell, left, 0.52 + 0.165 * len(notes))
    below = layout.corner(plot, len(plot.panels) - 1)[1] + TALL * len(plot.lines)
    tall = math.ceil(72 * (below + FOOT + KEY)) / 72
    figure = Figure(figsize=(wide, tall))
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(0, wide), ylim=(tall, 0))  # in inches, downwards
    axes.axis("off")
    axes.text(EDGE, 0.14, plot.title, va="top", fontsize=12, fontweight="bold")
    axes.text(EDGE, 0.4, "\n".join(notes), va="top", fontsize=8.5, color=PALE)
    for number in range(len(plot.panels)):
        _names(axes, plot, layout, number)
    _cells(figure, axes, plot, layout)
    _key(figure, axes, plot, left, below + FOOT + 0.3)
    return figure


def _words(plot: HeatPlot) -> list[str]:
    return [cell.words for panel in plot.panels for line in panel.cells for cell in line if cell]


def _names(axes: Axes, plot: HeatPlot, layout: _Layout, number: int) -> None:
    """A panel's title; its values down at the left of the figure, those across where no panel stands below."""
    x, y = layout.corner(plot, number)
    axes.text(x, y - 0.07, one_line(plot.panels[number].title, 48), va="bottom", fontsize=9.5, fontweight="bold")
    if number % layout.columns == 0:
        for place, name in enumerate(plot.lines):
            at = y + TALL * (place + 0.5)
            axes.text(x - 0.08, at, one_line(name, 14), ha="right", va="center", **SMALL)
        middle = y + TALL * len(plot.lines) / 2
        name = one_line(plot.down, 20)
        axes.text(EDGE, middle, name, rotation=90, ha="left", va="center", fontsize=8, color=PALE)
    if number + layout.columns >= len(plot.panels):
        under = y + TALL * len(plot.lines) + 0.05
        for place, name in enumerate(plot.columns):
            axes.text(x + layout.cell * (place + 0.5), under, one_line(name, 14), ha="center", va="top", **SMALL)
        end = x + layout.cell * len(plot.columns) / 2
        axes.text(end, under + 0.16, one_line(plot.across, 20), ha="center", va="top", fontsize=8, color=PALE)


def _cells(figure: Figure, axes: Axes, plot: HeatPlot, layout: _Layout) -> None:
    boxes: dict[str, list[Box]] = {}
    numbers: list[Number] = []
    for n, panel in enumerate(plot.panels):
        left, top = layout.corner(plot, n)
        for line, cells in enumerate(panel.cells):
            for column, found in enumerate(cells):
                if found:
                    x, y = left + layout.cell * column, top + TALL * line
                    at = (x + layout.cell / 2, y + TALL / 2)
                    boxes.setdefault(_look(found), []).append((x, y, layout.cell, TALL))
                    if found.best:
                        boxes.setdefault("best", []).append((x + 0.02, y + 0.02, layout.cell - 0.04, TALL - 0.04))
                    if found.percent is None:
                        words = found.words.replace(" ", "\n", 1)
                        axes.text(*at, words, ha="center", va="center", fontsize=6.5, color=INK, linespacing=0.95)
                    else:
                        numbers.append(_number(found, at))
    _boxes(axes, boxes)
    write_numbers(figure, axes, numbers, 8, INKS, bold="best")


def _number(cell: HeatCell, at: tuple[float, float]) -> Number:
    percent = round(cell.percent or 0)
    return Number(str(percent), at, "best" if cell.best else "dark" if _is_light(_colour(percent)) else "light")


def _look(cell: HeatCell) -> str:
    return "none" if cell.percent is None else _colour(round(cell.percent))


def _colour(percent: int) -> str:
    """Of cividis, which is even to the eye, also to a colour-blind one, and on paper without colours."""
    share = max(0.0, (percent - LEAST) / (100 - LEAST))
    return to_hex(mpl.colormaps["cividis"](0.12 + 0.88 * share))


def _is_light(colour: str) -> bool:
    """Whether dark letters have more contrast on it than white ones; by the luminance of WCAG 2."""
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.179


def _boxes(axes: Axes, boxes: dict[str, list[Box]]) -> None:
    """All boxes of a look as one path."""
    for look, own in boxes.items():
        paths = []
        for x, y, wide, tall in own:
            (left, right), (top, bottom) = map(rounded, (x, x + wide)), map(rounded, (y, y + tall))
            corners = [(left, top), (right, top), (right, bottom), (left, bottom), (left, top)]
            paths.append(Path(corners, closed=True))
        style: dict[str, Any] = {"facecolor": look, "edgecolor": "white", "linewidth": 0.8, "zorder": 2}
        if look == "none":
            style = {"facecolor": "#f4f4f6", "edgecolor": "#cfcfd6", "linewidth": 0.5, "hatch": "////", "zorder": 1}
        if look == "best":
            style = {"facecolor": "none", "edgecolor": INK, "linewidth": 1.3, "zorder": 3}
        axes.add_patch(PathPatch(Path.make_compound_path(*paths), joinstyle="miter", clip_on=False, **style))


def _key(figure: Figure, axes: Axes, plot: HeatPlot, left: float, y: float) -> None:
    """What the colours mean, and the hatching where there is any."""
    boxes: dict[str, list[Box]] = {}
    numbers = []
    words = f"percent of the best (darkest: {LEAST} or less):"
    axes.text(left, y + TALL / 2, words, va="center", fontsize=8, color=PALE)
    x = left + 0.06 * len(words) + 0.12
    for percent in range(LEAST, 101, 10):
        boxes[_colour(percent)] = [(x, y, CELL[0], TALL)]
        look = "dark" if _is_light(_colour(percent)) else "light"
        numbers.append(Number(str(percent), (x + CELL[0] / 2, y + TALL / 2), look))
        x += CELL[0]
    if any(_words(plot)):
        boxes["none"] = [(x + 0.2, y, CELL[0], TALL)]
        axes.text(x + 0.28 + CELL[0], y + TALL / 2, "no time", va="center", fontsize=8, color=PALE)
    _boxes(axes, boxes)
    write_numbers(figure, axes, numbers, 8, INKS)
