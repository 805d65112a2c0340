"""Drawing what became of the cases: a word in every cell, on a tint, and the reasons below."""

from __future__ import annotations

import math
import textwrap
from typing import Any

from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from runner.report.figures.status_grid import GridPlot
from runner.report.figures.style import INK, PALE
from runner.report.text import count, one_line

TINTS = {"good": "#dff2e4", "bad": "#fbdcda", "idle": "#ededef", "mixed": "#fbf0d3"}
INKS = {"good": "#0f5527", "bad": "#8f1216", "idle": "#55555c", "mixed": "#5e4a06"}

EDGE, LETTER, TALL, SMALL = 0.12, 0.076, 0.34, 8.5
"""Around the figure, width of a letter, height of a row, all in inches; the size of all but the title."""


def draw(plot: GridPlot) -> Figure:
    """The figure of a plot."""
    down = [one_line(name, 60) for name in plot.down]
    left = EDGE + LETTER * max(len(name) for name in down) + 0.15
    words = [_words(plot, row, column) for row in range(len(down)) for column in range(len(plot.columns))]
    cell = max(0.95, 0.16 + LETTER * max(len(text) for text in (*plot.columns, *words)))
    wide = math.ceil(72 * max(8.0, left + cell * len(plot.columns) + EDGE)) / 72
    reasons = [
        line for reason in _reasons(plot) for line in textwrap.wrap(reason, int(wide * 15), subsequent_indent="     ")
    ]
    top = 0.72 + (0.36 if plot.across else 0.06)
    tall = math.ceil(72 * (top + TALL * len(down) + 0.2 + 0.165 * len(reasons) + EDGE)) / 72
    figure = Figure(figsize=(wide, tall))
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(0, wide), ylim=(tall, 0))  # in inches, downwards
    axes.axis("off")
    axes.text(EDGE, 0.14, plot.title, va="top", fontsize=12, fontweight="bold")
    axes.text(EDGE, 0.4, plot.notes, va="top", fontsize=SMALL, color=PALE)
    middle: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": SMALL}
    if plot.across:
        axes.text(left, top - 0.37, one_line(plot.across, 80), va="center", fontsize=SMALL, color=PALE)
        for place, name in enumerate(plot.columns):
            axes.text(left + cell * (place + 0.5), top - 0.14, name, color=INK, **middle)
    for row, name in enumerate(down):
        y = top + TALL * row
        axes.text(left - 0.1, y + TALL / 2, name, ha="right", va="center", fontsize=SMALL)
        for column, found in enumerate(plot.cells[row]):
            if found:
                x = left + cell * column
                tint = TINTS[found.kind]
                axes.add_patch(Rectangle((x, y), cell, TALL, facecolor=tint, edgecolor="white", linewidth=2))
                weight = "normal" if found.kind == "good" else "bold"
                text = _words(plot, row, column)
                axes.text(x + cell / 2, y + TALL / 2, text, color=INKS[found.kind], weight=weight, **middle)
    below = top + TALL * len(down) + 0.16
    axes.text(EDGE, below, "\n".join(reasons), va="top", fontsize=SMALL, color=INK, linespacing=1.3)
    return figure


def _words(plot: GridPlot, row: int, column: int) -> str:
    """A cell's words, with the number of its reason where there are several to tell apart."""
    found = plot.cells[row][column]
    if found is None:
        return ""
    return f"{found.words} ({found.reason})" if found.reason and len(plot.reasons) > 1 else found.words


def _reasons(plot: GridPlot) -> list[str]:
    numbered = len(plot.reasons) > 1
    told = [f"({n})  {reason}" if numbered else reason for n, reason in enumerate(plot.reasons, 1)]
    return [*told, f"and {count(plot.more, 'further reason')}: see the failures above."] if plot.more else told
