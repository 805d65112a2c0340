"""Drawing what shuffles moved: squares and arrows, from the measured map alone.

`svg(rows)` draws any rows, without a run's folder. Shapes of one look are one path, so that a file stays small.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable, Mapping
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import PathPatch
from matplotlib.path import Path

from runner.report.figures.digits import Number, rounded, write_numbers
from runner.report.figures.lanes.choice import LanePlot, remarks, stacked
from runner.report.figures.lanes.layout import CAPTION, Layout, lay, side, tagged, width
from runner.report.figures.lanes.legend import legend
from runner.report.figures.lanes.marks import Mark, marks, numbers, tags
from runner.report.figures.lanes.steps import Step
from runner.report.figures.saving import saved
from runner.report.figures.style import CRIMSON, INK, PALE, RED, SEGMENTS
from runner.report.text import one_line

BETWEEN, EDGE, ROWS, LETTER = 0.28, 0.12, 0.68, 0.079
"""Between steps; around the figure; room for the names of the rows; a letter of a step's name. In inches."""

LOOKS: dict[str, dict[str, Any]] = {
    "square": {"facecolor": "#f6f6f7", "edgecolor": "#8a8a8a", "linewidth": 0.7, "zorder": 2},
    "idle": {"facecolor": "#ffffff", "edgecolor": "#cfcfcf", "linewidth": 0.7, "hatch": "//////", "zorder": 2},
    "thread": {"facecolor": "none", "edgecolor": INK, "linewidth": 1.4, "zorder": 3},
    "undefined": {"facecolor": "#fff4f6", "edgecolor": CRIMSON, "linewidth": 1.2, "linestyle": (0, (2.5, 1.5))},
    "wrong": {"facecolor": "#ffe3e0", "edgecolor": RED, "linewidth": 2.0},
    "beyond": {"facecolor": "#ffffff", "edgecolor": "#8a8a8a", "linewidth": 0.9, "linestyle": (0, (2.5, 1.5))},
    "empty": {"edgecolor": "#8f8f8f", "linewidth": 1.2, "zorder": 1},
    "empty head": {"facecolor": "#8f8f8f", "zorder": 1},
    "own": {"edgecolor": "#8f8f8f", "linewidth": 1.2, "linestyle": (0, (1, 1.7)), "zorder": 1},
    "asked": {"edgecolor": CRIMSON, "linewidth": 1.2, "linestyle": (0, (3, 2)), "zorder": 1.4},
    "asked head": {"facecolor": CRIMSON, "zorder": 1.4},
    "red": {"edgecolor": RED, "linewidth": 2.4, "zorder": 1.6},
    "red head": {"facecolor": RED, "zorder": 1.6},
}
INKS = {"plain": INK, "pale": "#5c5c5c", "beyond": INK, "undefined": CRIMSON, "wrong": RED}


def svg(rows: Iterable[Mapping[str, Any]], title: str = "") -> bytes:
    """The lane picture of some rows, one step a row, as SVG.

    Args:
        rows: Dictionaries with the columns of results.csv, as text or typed: `kernel`, `shuffle`, `received`, `block`,
            and where the kernel reads them `width`, `mask`, `per_thread`, `first`, `second`; `device` for the title.
            Rows without `shuffle` or `received` are passed over.
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
        lay(step, square, tuple(remarks(step)), 0.2 + 0.15 * len(name))
        for step, name in zip(plot.steps, names, strict=True)
    ]
    left = EDGE + max(0.9, LETTER * max(len(line) for name in names for line in name)) + ROWS
    told = max((len(words) for layout in layouts for words in layout.remarks), default=0)
    wide = max(7.6, left + max(width(step, square) for step in plot.steps) + EDGE, left + 0.075 * told)
    title = textwrap.wrap(plot.title, int(wide * 9))
    notes = textwrap.wrap(plot.notes, int(wide * 15.2))
    key = [line for words in legend(plot, layouts) for line in textwrap.wrap(words, int(wide * 15.2))]
    under = 0.16 + 0.2 * len(title)
    top = under + 0.16 * len(notes) + 0.2
    tall = top + sum(layout.height + BETWEEN for layout in layouts) + 0.165 * len(key) + EDGE
    wide, tall = (math.ceil(72 * inches) / 72 for inches in (wide, tall))
    figure = Figure(figsize=(wide, tall))
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(0, wide), ylim=(tall, 0))  # in inches, downwards
    axes.axis("off")
    axes.text(EDGE, 0.14, "\n".join(title), va="top", fontsize=12, fontweight="bold")
    axes.text(EDGE, under, "\n".join(notes), va="top", fontsize=8.5, color=PALE)
    shapes: list[Mark] = []
    written: list[Number] = []
    y = top
    for layout, name in zip(layouts, names, strict=True):
        _words(axes, layout, name, left, y)
        shapes += marks(layout, left, y)
        written += numbers(layout, left, y)
        for tag in tags(layout, left, y):
            axes.text(*tag.at, tag.text, ha="center", va="center", fontsize=7, color=PALE)
        y += layout.height + BETWEEN
    _shapes(axes, shapes)
    write_numbers(figure, axes, written, min(9.0, square * 72 * 0.4), INKS)
    axes.text(EDGE, y - 0.06, "\n".join(key), va="top", fontsize=8.5, color=PALE, linespacing=1.3)
    return figure


def _name(plot: LanePlot, step: Step) -> list[str]:
    """What stands at the left of a step: its name, and what tells it from the others."""
    told = [f"{name} {step.value(name)}" for name in plot.differing if step.value(name)]
    kernel = [one_line(step.kernel, 26)] if plot.tour else []
    return [*kernel, step.name, *told, *([step.status.replace("_", " ")] if step.status != "ok" else [])]


def _words(axes: Axes, layout: Layout, name: list[str], left: float, top: float) -> None:
    """The step's name, the names of its rows, and the words below."""
    first = top + layout.lines[0].top
    axes.text(EDGE, first + 0.02, name[0], va="top", fontsize=10, fontweight="bold")
    for place, words in enumerate(name[1:]):
        bad = words == layout.step.status.replace("_", " ")
        axes.text(EDGE, first + 0.21 + 0.15 * place, words, va="top", fontsize=8.5, color=RED if bad else INK)
    small: dict[str, Any] = {"ha": "right", "va": "center", "fontsize": 7.5, "color": PALE}
    warps = layout.step.threads > 32
    for line in layout.lines:
        warp = f"warp {line.squares[0].element.index // layout.step.per_thread // 32}\n" if warps else ""
        upper = top + line.top + layout.side / 2
        who = "element" if tagged(layout.step) else "lane"
        axes.text(left - 0.08, upper, f"{warp}{who}", linespacing=1.1, **small)
        axes.text(left - 0.08, upper + layout.side + line.fall, "received", **small)
    below = layout.lines[-1].top + 2 * layout.side + layout.lines[-1].fall + 0.04
    for place, words in enumerate(layout.remarks):
        wrong = "differ" in words
        colour = RED if wrong else CRIMSON if words.startswith("undefined") else PALE
        at = top + below + CAPTION * (place + 0.5)
        axes.text(left, at, words, va="center", fontsize=8.5, color=colour, weight="bold" if wrong else "normal")


def _shapes(axes: Axes, shapes: list[Mark]) -> None:
    """All shapes of a look as one path."""
    by_look: dict[str, list[Mark]] = {}
    for mark in shapes:
        by_look.setdefault(mark.look, []).append(mark)
    for look, own in by_look.items():
        paths = []
        for mark in own:
            corners = [(rounded(x), rounded(y)) for x, y in mark.corners]
            paths.append(Path([*corners, corners[0]] if mark.closed else corners, closed=mark.closed))
        style = {"facecolor": "none", "edgecolor": "none", "zorder": 4, "clip_on": False, **_look(look)}
        axes.add_patch(PathPatch(Path.make_compound_path(*paths), joinstyle="miter", **style))


def _look(look: str) -> dict[str, Any]:
    if look in LOOKS:
        return LOOKS[look]
    segment, _, head = look.partition(" ")
    colour = SEGMENTS[int(segment) % len(SEGMENTS)]
    return {"facecolor": colour, "zorder": 1.2} if head else {"edgecolor": colour, "linewidth": 1.3, "zorder": 1.2}
