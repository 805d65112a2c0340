"""How figures look: one colour and marker a kernel in all of them, told apart without colour too."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import matplotlib as mpl

# Okabe and Ito's colours, which stay apart for colour-blind readers, without the yellow that white paper swallows.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "p")  # ten: colour and marker repeat together after 70 kernels
DASHES = ("-", "--", ":", "-.")
INK, PALE = "#1a1a1a", "#5c5c5c"
CRIMSON, RED = "#b0124a", "#d60000"
"""Undefined, and wrong; neither without a word or a sign beside it."""

SEGMENTS = ("#0072b2", "#009e73", "#c77f00", "#7b5aa6", "#2c9fc9", "#5f6b1e")
"""Of the lanes' segments, in turn: none that could be taken for crimson or red."""

SETTINGS: Any = {
    "svg.hashsalt": "runner",  # ids that are the same whenever the picture is
    "svg.fonttype": "path",  # the page embeds figures as images, whose text could not be selected anyway
    "font.family": ["DejaVu Sans"],  # comes with matplotlib, so every machine draws the same
    "font.size": 9,
    "text.parse_math": False,  # a dollar in a name is a dollar
    "text.color": INK,
    "axes.edgecolor": "#8a8a8a",
    "axes.labelcolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#e3e3e3",
    "grid.linewidth": 0.7,
    "xtick.color": INK,
    "ytick.color": INK,
    "lines.linewidth": 1.6,
    "lines.markersize": 5,
    "figure.facecolor": "white",
    "savefig.facecolor": "white",
}


@dataclass(frozen=True)
class Stroke:
    """How a kernel is drawn."""

    colour: str
    marker: str
    dash: str


BACKGROUND = Stroke("#a9a9b0", ".", "-")
"""Of lines that are there to be compared with."""


def strokes(kernels: list[str]) -> dict[str, Stroke]:
    """A stroke for each kernel, in the order of the results."""
    return {
        kernel: Stroke(COLOURS[n % len(COLOURS)], MARKERS[n % len(MARKERS)], DASHES[n // len(COLOURS) % len(DASHES)])
        for n, kernel in enumerate(kernels)
    }


@contextmanager
def drawing() -> Iterator[None]:
    """Settings for drawing, whatever the user's own matplotlibrc says."""
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(SETTINGS)
        yield
