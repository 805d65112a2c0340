"""A figure as bytes: the same figure gives the same bytes, on any day, whatever the user's matplotlibrc says."""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable

from matplotlib.figure import Figure

from runner.report.figures.style import drawing


def saved(make: Callable[[], Figure], *, png: bool = True) -> tuple[bytes, bytes]:
    """The figure that `make` draws, as SVG and as PNG; without `png` the second is empty."""
    with drawing(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing")  # a foreign letter in a name is drawn as a box
        warnings.filterwarnings("ignore", message="Matplotlib currently does not support")  # and some scripts unshaped
        figure = make()
        vector, pixels = io.BytesIO(), io.BytesIO()
        figure.savefig(vector, format="svg", metadata={"Date": None, "Creator": None})
        if png:
            figure.savefig(pixels, format="png", dpi=144, metadata={"Software": None})
    return vector.getvalue(), pixels.getvalue()
