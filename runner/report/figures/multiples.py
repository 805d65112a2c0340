"""Figures of one or more panels: title and notes on top, axes of equal size below.

All lengths are in inches, so that nothing is squeezed however long a name is or however many panels there are.
"""

from __future__ import annotations

import math
import textwrap
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from runner.report.figures.style import PALE

EDGE, BOTTOM = 0.12, 0.62
"""At the left of the title; below the last line of axes, for their ticks and name. In inches."""


@dataclass(frozen=True)
class Room:
    """Lengths in inches.

    Attributes:
        width: of each pair of axes.
        height: of each pair of axes.
        left: at the left of the first column.
        right: at the right of the last column.
        beside: between two axes of a line.
        above: between two axes above one another.
        head: over the first line of axes, for their titles.
    """

    width: float
    height: float
    left: float
    right: float
    beside: float
    above: float
    head: float = 0.0


def multiples(title: str, notes: str, panels: int, columns: int, room: Room) -> tuple[Figure, list[Axes]]:
    """A figure with that many axes, line by line."""
    lines = math.ceil(panels / columns)
    wide = room.left + columns * room.width + (columns - 1) * room.beside + room.right
    titled = textwrap.wrap(title, int(wide * 9))
    noted = textwrap.wrap(notes, int(wide * 15.5))
    under = 0.2 + 0.2 * len(titled)
    top = under + 0.22 + 0.17 * len(noted) + room.head
    tall = top + lines * room.height + (lines - 1) * room.above + BOTTOM
    figure = Figure(figsize=(wide, tall))
    figure.text(EDGE / wide, 1 - 0.14 / tall, "\n".join(titled), va="top", fontsize=12, fontweight="bold")
    figure.text(EDGE / wide, 1 - under / tall, "\n".join(noted), va="top", fontsize=8.5, color=PALE)
    axes = []
    for n in range(panels):
        x = room.left + n % columns * (room.width + room.beside)
        y = tall - top - room.height - n // columns * (room.height + room.above)
        axes.append(figure.add_axes((x / wide, y / tall, room.width / wide, room.height / tall)))
    return figure, axes
