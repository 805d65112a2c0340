"""How figures look: one colour and marker for each kernel in all figures, distinguishable without colour too."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from io import BytesIO
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure

# Okabe and Ito's colours, which colour-blind readers can distinguish, without the yellow that is invisible on white.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "p")  # colour and marker repeat together after 70 kernels
DASHES = ("-", "--", ":", "-.")
INK, PALE = "#1a1a1a", "#5c5c5c"
CRIMSON, RED = "#b0124a", "#d60000"
"""Undefined, and wrong. A word or a sign always stands beside them."""

SEGMENTS = ("#0072b2", "#009e73", "#c77f00", "#7b5aa6", "#2c9fc9", "#5f6b1e")
"""Colours of segments of lanes. None of them resembles crimson or red."""

SETTINGS: Any = {
    "svg.hashsalt": "runner",  # the same ids in every process
    "svg.fonttype": "none",  # text stays text
    "font.family": ["sans-serif"],
    "font.sans-serif": ["DejaVu Sans", "Verdana"],  # the first comes with matplotlib; the second has its widths
    "font.size": 9,
    "text.parse_math": False,  # a dollar in a name is a dollar
    "text.color": INK,
    "axes.edgecolor": "#8a8a8a",
    "axes.labelcolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.titlesize": 9.5,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "grid.color": "#e3e3e3",
    "grid.linewidth": 0.7,
    "legend.frameon": False,
    "xtick.color": INK,
    "ytick.color": INK,
    "lines.linewidth": 1.6,
    "lines.markersize": 5,
}

UNREADABLE = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
"""Characters that XML forbids."""


@dataclass(frozen=True)
class Stroke:
    """How a kernel is drawn."""

    colour: str
    marker: str
    dash: str


BACKGROUND = Stroke("#a9a9b0", ".", "-")
"""The stroke of lines that are only there for comparison."""


def strokes(kernels: list[str]) -> dict[str, Stroke]:
    """A stroke for each kernel, in the order of the results."""
    return {
        kernel: Stroke(COLOURS[n % len(COLOURS)], MARKERS[n % len(MARKERS)], DASHES[n // len(COLOURS) % len(DASHES)])
        for n, kernel in enumerate(kernels)
    }


def saved(make: Callable[[], Figure | bytes], *, png: bool = True) -> tuple[bytes, bytes]:
    """What `make` draws, as SVG and as PNG. Without `png`, and of what is SVG already, the second is empty.

    The same figure gives the same bytes on any day, whatever the user's matplotlibrc says.
    """
    with mpl.rc_context(), warnings.catch_warnings():
        mpl.rcdefaults()
        mpl.rcParams.update(SETTINGS)
        warnings.filterwarnings("ignore", message="Glyph .* missing")  # a foreign letter in a name becomes a box
        warnings.filterwarnings("ignore", message="Matplotlib currently does not support")  # some scripts
        figure = make()
        if isinstance(figure, bytes):
            return figure, b""
        if engine := figure.get_layout_engine():
            engine.execute(figure)
            figure.set_layout_engine("none")  # one layout serves both formats
        vector, pixels = BytesIO(), BytesIO()
        figure.savefig(vector, format="svg", metadata={"Date": None, "Creator": None})
        if png:
            figure.savefig(pixels, format="png", dpi=144, metadata={"Software": None})
    return UNREADABLE.sub("\N{REPLACEMENT CHARACTER}", vector.getvalue().decode()).encode(), pixels.getvalue()
