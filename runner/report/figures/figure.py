"""What a figure of the report is, and how figures look.

Each kernel has one colour and marker in all figures, distinguishable without colour too.
"""

from __future__ import annotations

import base64
import csv
import io
import re
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

import pandas as pd

from runner.report.findings import Ratio
from runner.report.table import parameters
from runner.report.text import absent

if TYPE_CHECKING:  # matplotlib would slow a report without figures
    from matplotlib.figure import Figure as Drawing

Row = dict[str, Any]
View = dict[str, Any]
"""How the page's chart starts: its title, the columns on its axes, and the values that all its cases have."""

Section = Literal["times", "shape", "baseline", "lanes", "raw"]

# Okabe and Ito's colours, which colour-blind readers can distinguish, without the yellow that is invisible on white.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "p")  # colour and marker repeat together after 70 kernels
DASHES = ("-", "--", ":", "-.")
INK, PALE = "#1a1a1a", "#5c5c5c"
CRIMSON = "#b0124a"

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


class Stroke(NamedTuple):
    """How a kernel is drawn."""

    colour: str
    marker: str
    dash: str


BACKGROUND = Stroke("#a9a9b0", ".", "-")
"""The stroke of lines that are only there for comparison."""

CEILING = Stroke(PALE, "", "-.")
"""The stroke of kernels that are a limit for the others."""


@dataclass(frozen=True)
class Run:
    """The results that figures are made from: the run folder, its table, and the speed-ups of its cases by row."""

    path: Path
    frame: pd.DataFrame
    ratios: Mapping[int, Ratio]

    @property
    def names(self) -> list[str]:
        """The parameters, in the order in which a reader wants them."""
        return parameters(self.frame)

    @cached_property
    def looks(self) -> dict[str, Stroke]:
        """How each kernel is drawn in all figures."""
        return strokes([str(kernel) for kernel in self.frame["kernel"].unique()])

    def identity(self, row: Row) -> Row:
        """The columns that identify a case, for a figure's CSV."""
        return {name: row.get(name) for name in ("case", *self.names, "rows", "cols", "finish")}


@dataclass(frozen=True)
class Figure(ABC):
    """A figure of a section of the page; its files are named after the stem. Making one draws nothing yet."""

    section: ClassVar[Section]
    is_svg: ClassVar[bool] = False
    """Whether `draw` gives the SVG itself, without matplotlib."""
    stem: str
    title: str
    caption: str

    @property
    def view(self) -> View:
        """How the page's chart shows the same; empty if it does not."""
        return {}

    @abstractmethod
    def rows(self) -> list[Row]:
        """The numbers that it shows: the rows of the CSV beside it."""

    @abstractmethod
    def draw(self) -> Any:
        """The drawing, or the SVG itself."""


@dataclass(frozen=True)
class Drawn:
    """A drawn figure, for the page and the folder. A figure that is SVG from the start has no PNG."""

    section: Section
    stem: str
    title: str
    caption: str
    files: dict[str, bytes]
    """The content of each file, by its ending."""
    view: View = field(default_factory=dict)

    @property
    def data(self) -> str:
        """The SVG as base64, for the page."""
        return base64.b64encode(self.files["svg"]).decode()


def drawn(figure: Figure, stem: str) -> Drawn:
    """Draw a figure. The same figure gives the same bytes."""
    svg, png = (figure.draw(), b"") if figure.is_svg else saved(figure.draw)
    files = {"svg": svg, **({"png": png} if png else {}), "csv": as_csv(figure.rows())}
    return Drawn(figure.section, stem, figure.title, figure.caption, files, figure.view)


def saved(make: Callable[[], Drawing], *, png: bool = True) -> tuple[bytes, bytes]:
    """What `make` draws, as SVG and as PNG; the PNG is empty without `png`.

    The same figure gives the same bytes on any day, whatever the user's matplotlibrc says.
    """
    import matplotlib as mpl  # noqa: PLC0415

    with mpl.rc_context(), warnings.catch_warnings():
        mpl.rcdefaults()
        mpl.rcParams.update(SETTINGS)
        warnings.filterwarnings("ignore", message="Glyph .* missing")  # a foreign letter in a name becomes a box
        warnings.filterwarnings("ignore", message="Matplotlib currently does not support")  # some scripts
        figure = make()
        if engine := figure.get_layout_engine():
            engine.execute(figure)
            figure.set_layout_engine("none")  # one layout serves both formats
        vector, pixels = io.BytesIO(), io.BytesIO()
        figure.savefig(vector, format="svg", metadata={"Date": None, "Creator": None})
        if png:
            figure.savefig(pixels, format="png", dpi=144, metadata={"Software": None})
    return UNREADABLE.sub("\N{REPLACEMENT CHARACTER}", vector.getvalue().decode()).encode(), pixels.getvalue()


def as_csv(rows: list[Row]) -> bytes:
    """The rows as CSV, without the columns that are empty in all of them."""
    names = dict.fromkeys(name for row in rows for name in row)
    kept = [name for name in names if any(not absent(row.get(name)) for row in rows)]
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(kept)
    writer.writerows([_written(row.get(name)) for name in kept] for row in rows)
    return stream.getvalue().encode("utf-8", errors="replace")


def strokes(kernels: list[str]) -> dict[str, Stroke]:
    """A stroke for each kernel, in the order of the results."""
    return {
        kernel: Stroke(COLOURS[n % len(COLOURS)], MARKERS[n % len(MARKERS)], DASHES[n // len(COLOURS) % len(DASHES)])
        for n, kernel in enumerate(kernels)
    }


def _written(value: Any) -> str:
    if absent(value):
        return ""
    return f"{value:.9g}" if isinstance(value, float) else str(value)
