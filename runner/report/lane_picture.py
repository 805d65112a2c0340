"""Drawing what shuffles moved: squares and arrows, from the measured map alone.

`svg(rows)` draws any rows, without a run's folder. Shapes of one look are one path, so that a file stays small.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from matplotlib.axes import Axes
from matplotlib.collections import PathCollection
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.patches import PathPatch
from matplotlib.path import Path
from matplotlib.textpath import TextPath

from runner.report.lane_choice import LanePlot, remarks, stacked
from runner.report.lane_layout import CAPTION, TAG, Layout, Line, Square, lay, number, side, tagged, width
from runner.report.lane_legend import legend
from runner.report.lane_steps import Element, Step
from runner.report.saving import saved
from runner.report.style import CRIMSON, INK, PALE, RED, SEGMENTS
from runner.report.text import one_line

BETWEEN, EDGE, ROWS, LETTER = 0.3, 0.14, 0.66, 0.083
"""Between steps; around the figure; room for the names of the rows; a letter of a step's name. In inches."""

HEAD = 0.075
"""Length of an arrow's head."""

Point = tuple[float, float]


@dataclass(frozen=True)
class Mark:
    """A shape: its look, a name of `_LOOKS` or a segment's number, and its corners; a closed one is filled."""

    look: str
    corners: tuple[Point, ...]
    closed: bool = False


@dataclass(frozen=True)
class Number:
    """A number in a square."""

    text: str
    at: Point
    colour: str


_LOOKS: dict[str, dict[str, Any]] = {
    "square": {"facecolor": "#f6f6f7", "edgecolor": "#8a8a8a", "linewidth": 0.7, "zorder": 2},
    "idle": {"facecolor": "#ffffff", "edgecolor": "#9a9a9a", "linewidth": 0.7, "hatch": "//////", "zorder": 2},
    "undefined": {"facecolor": "#fff4f6", "edgecolor": CRIMSON, "linewidth": 1.2, "linestyle": (0, (2.5, 1.5)), "zorder": 4},
    "wrong": {"facecolor": "#ffe3e0", "edgecolor": RED, "linewidth": 2.0, "zorder": 4},
    "thread": {"facecolor": "none", "edgecolor": INK, "linewidth": 1.3, "zorder": 3},
    "own": {"facecolor": "none", "edgecolor": "#8f8f8f", "linewidth": 1.1, "linestyle": (0, (1, 1.6)), "zorder": 1},
    "asked": {"facecolor": "none", "edgecolor": CRIMSON, "linewidth": 1.2, "linestyle": (0, (3, 2)), "zorder": 1.4},
    "asked head": {"facecolor": CRIMSON, "edgecolor": "none", "zorder": 1.4},
    "red": {"facecolor": "none", "edgecolor": RED, "linewidth": 2.2, "zorder": 1.6},
    "red head": {"facecolor": RED, "edgecolor": "none", "zorder": 1.6},
}  # fmt: skip


def svg(rows: Iterable[Mapping[str, Any]], title: str = "") -> bytes:
    """The lane picture of some rows, one step a row, as SVG.

    Args:
        rows: Dictionaries with the columns of results.csv, as text or typed: `kernel`, `shuffle`, `received`, `block`,
            and where the kernel reads them `width`, `mask`, `per_thread`, `first`, `second`; `device` for the title.
            Rows that lack `shuffle` or `received` are passed over.
        title: In place of the one that is made from the rows.

    Raises:
        ValueError: if no row can be drawn.
    """
    plot = stacked(rows, title)
    return saved(lambda: draw(plot), png=False)[0]


def draw(plot: LanePlot) -> Figure:
    """The figure of a plot."""
    square = side(plot.steps)
    names = [_name(plot, step) for step in plot.steps]
    layouts = [
        lay(step, square, tuple(remarks(step)), 0.2 + 0.15 * (len(name) - 1))
        for step, name in zip(plot.steps, names, strict=True)
    ]
    left = EDGE + max(1.0, LETTER * max(len(line) for name in names for line in name)) + ROWS
    wide = left + max(width(step, square) for step in plot.steps) + 0.2
    wide = max(wide, 7.6, left + 0.075 * max((len(words) for one in layouts for words in one.remarks), default=0))
    title = textwrap.wrap(plot.title, int(wide * 9.2))
    notes = textwrap.wrap(plot.notes, int(wide * 15.2))
    key = [line for words in legend(plot) for line in textwrap.wrap(words, int(wide * 15.2), subsequent_indent="   ")]
    top = 0.2 + 0.2 * len(title) + 0.16 * len(notes) + 0.16
    tall = top + sum(one.height + BETWEEN for one in layouts) + 0.155 * len(key) + 0.1
    figure = Figure(figsize=(wide, tall))
    figure.text(EDGE / wide, 1 - 0.14 / tall, "\n".join(title), va="top", fontsize=12, fontweight="bold")
    under = 0.2 + 0.2 * len(title)
    figure.text(EDGE / wide, 1 - under / tall, "\n".join(notes), va="top", fontsize=8.5, color=PALE)
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(0, wide), ylim=(tall, 0))  # in inches, downwards
    axes.axis("off")
    y = top
    for layout, name in zip(layouts, names, strict=True):
        _words(axes, layout, name, left, y)
        y += layout.height + BETWEEN
    _shapes(axes, [mark for mark in _all(layouts, left, top)])
    _numbers(axes, [n for n in _all_numbers(layouts, left, top)], min(9.0, square * 72 * 0.4))
    figure.text(EDGE / wide, (tall - y + 0.06) / tall, "\n".join(key), va="top", fontsize=8.5, color=PALE, linespacing=1.25)
    return figure
