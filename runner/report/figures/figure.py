"""The base class of the report's figures, their style, and axes for kernel timings.

Each kernel has the same colour and marker in all figures. The markers distinguish kernels without colour.
"""

from __future__ import annotations

import csv
import io
import math
import re
import textwrap
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple
from urllib.parse import quote

import numpy as np

from runner.display.text import absent, brief, one_line, power, value_of
from runner.record.ranking import Ratio
from runner.record.run import Run

if TYPE_CHECKING:  # matplotlib would slow a report without figures
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure as Drawing

Row = dict[str, Any]
View = dict[str, Any]
"""The initial state of the page's chart: its title, the columns on its axes, and the values common to its cases."""

Section = Literal["search", "times", "shape", "baseline", "lanes", "why", "energy", "raw", "gpus"]

# The palette of Okabe and Ito, which colour-blind readers can distinguish, without its yellow, invisible on white.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "p")  # colour and marker repeat together after 70 kernels
DASHES = ("-", "--", ":", "-.")
INK, PALE = "#1a1a1a", "#5c5c5c"
CRIMSON = "#b0124a"

SETTINGS: Any = {
    "svg.hashsalt": "runner",  # the same ids in every process
    "svg.fonttype": "none",  # keep text selectable
    "font.family": ["sans-serif"],
    "font.sans-serif": ["DejaVu Sans", "Verdana"],  # the first comes with matplotlib; the second has the same widths
    "font.size": 9,
    "text.parse_math": False,  # a name may contain a dollar sign
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

UNREADABLE = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")  # characters that XML forbids


class Stroke(NamedTuple):
    """How a kernel is drawn."""

    colour: str
    marker: str
    dash: str


CEILING = Stroke(PALE, "", "-.")  # for kernels that are a ceiling of the others


@dataclass(frozen=True)
class Results:
    """The input of figures: a run, and the speed-ups of its cases by row number."""

    run: Run
    ratios: Mapping[int, Ratio]

    @property
    def names(self) -> list[str]:
        """The parameters, in the order of the tables."""
        return self.run.parameters

    @cached_property
    def looks(self) -> dict[str, Stroke]:
        """How each kernel is drawn in all figures."""
        return strokes(self.run.kernels)

    def identity(self, row: Row) -> Row:
        """The columns that identify a case, for a figure's CSV."""
        return {name: row.get(name) for name in ("case", *self.names, "rows", "cols", "finish")}


@dataclass(frozen=True)
class Figure(ABC):
    """A figure of a section of the page. `drawn` draws it; creating one does not.

    A figure sees a run's rows and records only: it opens no device and reads no time of day.
    """

    section: ClassVar[Section]
    is_svg: ClassVar[bool] = False  # whether `draw` returns SVG, without matplotlib
    stem: str
    title: str
    caption: str
    files: Mapping[str, bytes] = field(default_factory=dict, kw_only=True, repr=False)
    """The content of each file by its extension, once drawn. A figure with `is_svg` has no PNG."""

    @property
    def view(self) -> View:
        """The page's interactive chart of the same data; empty if there is no chart."""
        return {}

    @property
    def data(self) -> str:
        """The SVG as a data URL, for the page."""
        return data_url(self.files["svg"])

    @abstractmethod
    def rows(self) -> list[Row]:
        """The figure's numbers: the rows of its CSV file."""

    @abstractmethod
    def draw(self) -> Any:
        """Draw a matplotlib figure, or return the SVG if `is_svg`."""


def drawn(figure: Figure) -> Figure:
    """Return the figure with its files. The same figure gives the same bytes."""
    svg, png = (figure.draw(), b"") if figure.is_svg else saved(figure.draw)
    files = {"svg": svg, **({"png": png} if png else {}), "csv": as_csv(figure.rows())}
    return replace(figure, files=files)


def saved(make: Callable[[], Drawing], *, png: bool = True) -> tuple[bytes, bytes]:
    """Draw a figure and save it, independent of the user's matplotlibrc and the time of day.

    Args:
        make: Draws the figure.
        png: Also save a PNG.

    Returns:
        The SVG and the PNG; the PNG is empty without `png`.
    """
    import matplotlib as mpl  # noqa: PLC0415

    with mpl.rc_context(), warnings.catch_warnings():
        mpl.rcdefaults()
        mpl.rcParams.update(SETTINGS)
        warnings.filterwarnings("ignore", message="Glyph .* missing")  # matplotlib draws a box
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


def data_url(svg: bytes) -> str:
    """Encode an SVG as a data URL.

    Base64 would be a quarter larger. A URL loses line breaks, so spaces replace them.
    """
    return "data:image/svg+xml," + quote(svg.replace(b"\n", b" "), safe=" !()*,-./:;=?@[]^_{|}~+$")


def as_csv(rows: list[Row]) -> bytes:
    """Format rows as CSV, without columns that are empty in all rows."""
    names = dict.fromkeys(name for row in rows for name in row)
    kept = [name for name in names if any(not absent(row.get(name)) for row in rows)]
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(kept)
    writer.writerows([_written(row.get(name)) for name in kept] for row in rows)
    return stream.getvalue().encode("utf-8", errors="replace")


def strokes(kernels: list[str]) -> dict[str, Stroke]:
    """Assign a stroke to each kernel, in the order given."""
    return {
        kernel: Stroke(COLOURS[n % len(COLOURS)], MARKERS[n % len(MARKERS)], DASHES[n // len(COLOURS) % len(DASHES)])
        for n, kernel in enumerate(kernels)
    }


def _written(value: Any) -> str:
    if absent(value):
        return ""
    return f"{value:.9g}" if isinstance(value, float) else str(value)


WIDE = 9.0  # width of every figure in inches; the page scales all figures alike, so their fonts have one size


def plain(value: float, _: object = None) -> str:
    """Format a tick's number without powers of ten."""
    return f"{value:,.10g}"


def sheet(title: str, panels: int, columns: int, height: float, **grid: Any) -> tuple[Drawing, list[Axes]]:
    """Create a figure with panels.

    Args:
        title: The figure's title.
        panels: Number of panels.
        columns: Panels per row.
        height: Height of a row of panels with labels, in inches.
        grid: Options of matplotlib's `subplots`.
    """
    from matplotlib.figure import Figure as Sheet  # noqa: PLC0415

    lines = math.ceil(panels / columns)
    figure = Sheet(figsize=(WIDE, 0.4 + lines * height), layout="constrained")
    figure.suptitle(textwrap.fill(title, 76), x=0.01, ha="left", fontsize=12, fontweight="bold")
    every = figure.subplots(lines, columns, squeeze=False, **grid).ravel()
    for axes in every[panels:]:
        axes.remove()
    for axes in every[max(0, panels - columns) : panels]:
        axes.tick_params(labelbottom=True)
    return figure, list(every[:panels])


def positions(rows: list[Row], x: str) -> dict[str, float]:
    """Compute the x position of each value: log2 of a size; other values at 0, 1, 2, ..."""
    values = {value_of(x, row): row for row in rows}
    if x == "size" and len({row["size"] for row in values.values()}) == len(values):
        return {value: math.log2(row["size"] or 0.5) for value, row in values.items()}
    ordered = sorted(values, key=lambda value: _order(x, values[value]))
    return {value: float(place) for place, value in enumerate(ordered)}


def set_x(axes: Axes, places: dict[str, float], x: str, most: int = 11) -> None:
    """Set ticks, label and limits of the x axis.

    Args:
        axes: The axes.
        places: Positions by value, from `positions`.
        x: The parameter on the axis.
        most: Most ticks of an axis of sizes.
    """
    from matplotlib.ticker import FixedLocator  # noqa: PLC0415

    low, high = min(places.values()), max(places.values())
    margin = 0.04 * (high - low) or 0.5
    axes.set_xlim(low - margin, high + margin)
    shapes = all("x" in value for value in places)
    room = max(14, 90 // len(places))
    ticks = {place: one_line(brief(x, value), room) for value, place in places.items()}
    powers = [float(k) for k in range(math.ceil(low - 1e-9), math.floor(high + 1e-9) + 1)]
    if x == "size" and not shapes and len(powers) > 1:
        there = [k for k in powers if k in ticks]
        powers = there if len(there) > 1 else powers
        ticks = {k: power(2 ** int(k)) if k >= 0 else "0" for k in powers[:: 1 + (len(powers) - 1) // most]}
    axes.xaxis.set_major_locator(FixedLocator(list(ticks)))
    steep = sum(map(len, ticks.values())) > 5 * most
    axes.set_xticklabels(ticks.values(), rotation=35 if steep else 0, ha="right" if steep else "center")
    names = {"size": f"size ({'rows x columns' if shapes else 'elements'})", "block": "block (threads)"}
    axes.set_xlabel({**names, "width": "width (lanes)"}.get(x, one_line(x, 30)))


def set_ticks(axis: Axis, low: float, high: float, unit: str = "") -> None:
    """Set limits and ticks of a logarithmic axis, at round numbers. 1 is a tick if it is within the limits."""
    from matplotlib.ticker import FixedLocator, LogLocator, MaxNLocator, NullLocator  # noqa: PLC0415

    axis.set_view_interval(low, high, ignore=True)
    ticks = [tick for tick in MaxNLocator(5, steps=[1, 2, 5, 10]).tick_values(low, high) if tick > 0]
    wide = LogLocator(subs=(1, 2, 5) if high / low < 3000 else (1,), numticks=20)
    axis.set_major_locator(FixedLocator(ticks) if high / low < 6 else wide)
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(lambda value, _: f"{plain(value)}{unit}")


def legend(figure: Drawing, every: Sequence[Axes]) -> None:
    """Add a legend beside the panels, with each name once, in the order of the lines' right ends."""
    drawn = {str(line.get_label()): line for axes in every for line in axes.lines}
    named = [line for label, line in drawn.items() if label[0] != "_"]
    named.sort(key=lambda line: -float(np.asarray(line.get_ydata())[-1]))
    figure.legend(handles=named, loc="outside right upper")


def whole(text: Any) -> int | None:
    """Parse an integer in decimal, hexadecimal, octal or binary; `None` if it is not one."""
    try:
        return int(str(text), 0)
    except ValueError:
        return None


def _order(x: str, row: Row) -> tuple[Any, ...]:
    value = row[x]
    if x == "size":
        return int(row["size"]), value_of(x, row)
    if x == "block":
        sides = [whole(row[name]) for name in ("block_x", "block_y")]
        return math.prod(side or 1 for side in sides) if sides[0] else whole(value) or -1, value
    number = value if isinstance(value, float) else whole(value)
    return (1, 0, str(value)) if number is None else (0, number, "")
