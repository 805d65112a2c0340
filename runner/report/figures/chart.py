"""A chart as data: panels with two axes each, and marks in the axes' own numbers.

A figure says what is to be seen and knows no drawing. `drawing` draws every chart with matplotlib, for files and for a
page without a script. In the page, template/chart.js draws the charts of figures whose view has the kind `chart`; there
a mark with `rows` leads to rows of the table.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

# Okabe and Ito's colours, which colour-blind readers can distinguish, without the yellow that is invisible on white.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "p")  # colour and marker repeat together after 70 kernels
DASHES = ("-", "--", ":", "-.")
INK, PALE, CRIMSON = "#1a1a1a", "#5c5c5c", "#b0124a"
WIDE = 9.0  # the width of every figure in inches: the page scales all to one width, so their letters are of one size

Numbers = Sequence[float]


@dataclass(frozen=True)
class Look:
    """How a line and its points are drawn, in matplotlib's words for markers and dashes."""

    colour: str = INK
    marker: str = ""  # of each point; empty: no points
    dash: Any = "-"  # empty: no line between the points
    width: float = 1.6  # points
    size: float = 5.0  # of the markers, points
    hollow: bool = False


@dataclass(frozen=True)
class Axis:
    """An axis: numbers from `low` to `high`, with ticks at round numbers unless `ticks` names them."""

    label: str = ""
    low: float | None = None
    high: float | None = None
    log: bool = False
    ticks: Sequence[tuple[float, str]] | None = None
    unit: str = ""  # behind the number of each tick
    steep: bool = False  # the words at the ticks need more room than there is
    size: float = 9.0  # of the words at the ticks, points
    bare: bool = False  # without grid lines and ticks
    max_ticks: int = 0  # at round numbers; 0: as many as fit


@dataclass(frozen=True)
class Line:
    """Points, joined unless the look has no dash."""

    x: Numbers
    y: Numbers
    look: Look = Look()
    label: str = ""  # in the legend
    steps: Literal["", "pre", "post"] = ""
    beyond: bool = False  # points at the edge are drawn in full
    tips: Sequence[str] = ()  # what the page says of each point
    rows: Sequence[int] = ()  # of the table, to which each point leads


@dataclass(frozen=True)
class Band:
    """The area between two lines."""

    x: Numbers
    low: Numbers
    high: Numbers
    colour: str


@dataclass(frozen=True)
class Whiskers:
    """Intervals of y at places of x; with `across`, of x at places of y."""

    at: Numbers
    low: Numbers
    high: Numbers
    colours: Sequence[str]  # one for all, or one for each
    width: float = 1.0
    alpha: float = 1.0
    across: bool = False
    label: str = ""


@dataclass(frozen=True)
class Bars:
    """Horizontal bars at places of y, each from `left` on."""

    at: Numbers
    length: Numbers
    colours: Sequence[str]
    left: Numbers = ()
    height: float = 0.7
    alpha: float = 1.0
    label: str = ""


@dataclass(frozen=True)
class Histogram:
    """Counts along the y axis, between consecutive edges."""

    counts: Numbers
    edges: Numbers
    colour: str


@dataclass(frozen=True)
class Rule:
    """A line through the panel at a value of y; with `upright`, of x."""

    at: float
    look: Look = Look()
    label: str = ""
    upright: bool = False


@dataclass(frozen=True)
class Shade:
    """The area between two values of y."""

    low: float
    high: float
    colour: str


@dataclass(frozen=True)
class Cells:
    """A grid of squares in percent of the best: column x from x to x + 1, line y from y to y + 1."""

    x: Sequence[int]
    y: Sequence[int]
    percents: Sequence[float | None]  # None: a hatched square with a word
    words: Sequence[str]  # what stands in each square; empty where there is no room
    inks: Sequence[str]
    tips: Sequence[str] = ()
    rows: Sequence[int] = ()


@dataclass(frozen=True)
class Note:
    """Words at a point, `right` and `up` of it by points."""

    x: float
    y: float
    text: str
    right: float = 0.0
    up: float = 0.0
    colour: str = INK
    size: float = 8.5
    align: Literal["left", "center", "right"] = "left"
    vertical: Literal["top", "center", "baseline"] = "center"  # which part of the words is at the point's height
    pin: Literal["", "beside", "corner"] = ""  # x is a share of the panel's width; in a corner y of its height, too
    target: tuple[float, float] | None = None  # where the words stand instead, in the axes' numbers
    leader: bool = False  # with a thin line from the words to the point


Mark = Line | Band | Whiskers | Bars | Histogram | Rule | Shade | Cells | Note


@dataclass(frozen=True)
class Panel:
    """A pair of axes, with its marks from the lowest to the uppermost."""

    title: str
    x: Axis
    y: Axis
    marks: Sequence[Mark]
    small: bool = False  # whether the title is in small letters


@dataclass(frozen=True)
class Chart:
    """Panels in a grid."""

    panels: Sequence[Panel]
    columns: int = 1
    height: float = 3.6  # of a row of panels with its labels, inches
    share_x: bool = False
    share_y: bool = False
    widths: Sequence[float] = ()  # of the columns, relative
    legend: Literal["", "beside", "ends", "below", "left"] = ""  # ends: in the order of the lines' right ends
    legend_columns: int = 4
    legend_labels: Sequence[str] = ()  # those that it has, in order; empty: all

    @property
    def plain(self) -> dict[str, Any]:
        """The panels as plain values for the page, without fields that are False, None or empty."""
        return {"panels": [_plain(panel) for panel in self.panels]}


_EMPTY: tuple[Any, ...] = ("", (), None)


def _plain(one: Any) -> Any:
    if dataclasses.is_dataclass(one) and not isinstance(one, type):
        fields = {f.name: getattr(one, f.name) for f in dataclasses.fields(one)}
        present = {name: _plain(value) for name, value in fields.items() if value is not False and value not in _EMPTY}
        return {"kind": type(one).__name__.lower(), **present}
    if isinstance(one, list | tuple | range):
        return [_plain(value) for value in one]
    return float(f"{one:.5g}") if isinstance(one, float) else one
