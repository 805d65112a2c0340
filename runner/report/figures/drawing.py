"""Draws charts with matplotlib. The same chart gives the same bytes on any day."""

from __future__ import annotations

import functools
import io
import math
import re
import textwrap
import warnings
from collections.abc import Sequence
from typing import Any, Literal

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure as Sheet
from matplotlib.patches import Rectangle
from matplotlib.ticker import FixedLocator, LogLocator, MaxNLocator, NullLocator

from runner.report.figures import chart
from runner.report.figures.chart import INK, WIDE, Chart, Look, Mark

MIN_PERCENT, DARKEST_PERCENT = 50, 43.2
"""This percentage and all below have the darkest colour; the dark end of the whole scale."""

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

TAG, DIGITS = re.compile("<[^<>]*>"), re.compile(r"(\.\d\d)\d+")
QUOTED = "font-family: 'DejaVu Sans', 'Verdana', sans-serif"
METADATA = re.compile("<metadata>.*?</metadata>", re.DOTALL)
UNREADABLE = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")  # characters that XML forbids


def save(title: str, content: Chart, *, png: bool = True) -> tuple[bytes, bytes]:
    """A chart as SVG and as PNG; the PNG is empty without `png`. The user's matplotlibrc does not count."""
    with mpl.rc_context(), warnings.catch_warnings():
        mpl.rcdefaults()
        mpl.rcParams.update(SETTINGS)
        warnings.filterwarnings("ignore", message="Glyph .* missing")  # a foreign letter in a name becomes a box
        warnings.filterwarnings("ignore", message="Matplotlib currently does not support")  # some scripts
        figure = draw(title, content)
        if engine := figure.get_layout_engine():
            engine.execute(figure)
            figure.set_layout_engine(None)  # one layout serves both formats, and neither needs a draw before it
        vector, pixels = io.BytesIO(), io.BytesIO()
        figure.savefig(vector, format="svg", metadata={"Date": None, "Creator": None})
        if png:
            figure.savefig(pixels, format="png", dpi=144, metadata={"Software": None})
    return _smaller(vector.getvalue().decode()).encode(), pixels.getvalue()


def _smaller(svg: str) -> str:
    """An SVG that looks the same: two decimals of a point suffice. What XML forbids is replaced."""
    svg = UNREADABLE.sub("\N{REPLACEMENT CHARACTER}", METADATA.sub("", svg)).replace(QUOTED, QUOTED.replace("'", ""))
    return TAG.sub(lambda tag: DIGITS.sub(r"\1", tag[0]), svg)


class NotebookFigure(Sheet):
    """A figure that a notebook displays, also without pyplot."""

    def _repr_png_(self) -> bytes:
        content = io.BytesIO()
        self.savefig(content, format="png", dpi=96)
        return content.getvalue()


def for_notebook(title: str, content: Chart) -> Sheet:
    """Draw a chart as a figure that a notebook displays. The user's matplotlibrc does not count."""
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(SETTINGS)
        return draw(title, content, NotebookFigure)


def draw(title: str, content: Chart, kind: type[Sheet] = Sheet) -> Sheet:
    """Draw a chart."""
    number = len(content.panels)
    lines = math.ceil(number / content.columns)
    figure = kind(figsize=(WIDE, 0.4 + lines * content.height), layout="constrained")
    figure.suptitle(textwrap.fill(title, 76), x=0.01, ha="left", fontsize=12, fontweight="bold")
    grid: dict[str, Any] = {"sharex": content.share_x, "sharey": content.share_y}
    grid |= {"width_ratios": list(content.widths)} if content.widths else {}
    every = list(figure.subplots(lines, content.columns, squeeze=False, **grid).ravel())
    for axes in every[number:]:
        axes.remove()
    for axes in every[max(0, number - content.columns) : number]:
        axes.tick_params(labelbottom=True)
    for axes, panel in zip(every, content.panels, strict=False):
        _panel(axes, panel)
    if content.legend:
        _legend(figure, every[:number], content)
    return figure


def _panel(axes: Axes, panel: chart.Panel) -> None:
    small: dict[str, Any] = {"fontsize": 8.5, "fontweight": "normal", "linespacing": 1.25} if panel.small else {}
    axes.set_title(panel.title, **small)
    if panel.x.log:
        axes.set_xscale("log")
    if panel.y.log:
        axes.set_yscale("log")
    for mark in panel.marks:
        _draw(mark, axes)
    _axis(axes, "x", panel.x)
    _axis(axes, "y", panel.y)


def _axis(axes: Axes, name: Literal["x", "y"], axis: chart.Axis) -> None:
    target = axes.xaxis if name == "x" else axes.yaxis
    if axis.low is not None and axis.high is not None:
        axes.set(**{f"{name}lim": (axis.low, axis.high)})
    target.set_label_text(axis.label)
    if axis.ticks is not None:
        target.set_major_locator(FixedLocator([place for place, _ in axis.ticks]))
        target.set_minor_locator(NullLocator())
        steep: dict[str, Any] = {"rotation": 35, "ha": "right"} if axis.steep else {}
        target.set_ticklabels([words for _, words in axis.ticks], **steep)
    elif axis.log and axis.low is not None and axis.high is not None:
        _round_ticks(target, *sorted((axis.low, axis.high)))
    elif axis.max_ticks:
        target.set_major_locator(MaxNLocator(axis.max_ticks, integer=axis.max_ticks < 4))
    if axis.ticks is None:
        target.set_major_formatter(lambda value, _: f"{value:,.10g}{axis.unit}")
    if axis.size != chart.Axis.size:
        axes.tick_params(axis=name, labelsize=axis.size)
    if axis.bare:
        axes.grid(visible=False, axis=name)
        axes.tick_params(axis=name, length=0)


def _round_ticks(axis: Axis, low: float, high: float) -> None:
    """Ticks of a logarithmic axis, at round numbers. 1 is a tick wherever it is in the range."""
    ticks = [tick for tick in MaxNLocator(5, steps=[1, 2, 5, 10]).tick_values(low, high) if tick > 0]
    wide = LogLocator(subs=(1, 2, 5) if high / low < 3000 else (1,), numticks=20)
    axis.set_major_locator(FixedLocator(ticks) if high / low < 6 else wide)
    axis.set_minor_locator(NullLocator())


def _legend(figure: Sheet, every: Sequence[Axes], content: Chart) -> None:
    handles: dict[str, Any] = {}
    for axes in every:
        handles |= {label: handle for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)}
    if content.legend == "ends":
        lines = {str(line.get_label()): line for axes in every for line in axes.lines}
        ends = {label: -float(np.asarray(lines[label].get_ydata())[-1]) for label in handles}
        handles = {label: lines[label] for label in sorted(handles, key=lambda label: ends[label])}
    if content.legend_labels:
        handles = {label: handles[label] for label in content.legend_labels if label in handles}
    below = {"below": "outside lower center", "left": "outside lower left"}
    where: Any = below.get(content.legend, "outside right upper")
    columns = content.legend_columns if content.legend in below else 1
    figure.legend(list(handles.values()), list(handles), loc=where, ncols=columns)


@functools.singledispatch
def _draw(mark: Mark, axes: Axes) -> None:
    raise TypeError(f"{type(mark).__name__} {axes}")


def _style(look: Look) -> dict[str, Any]:
    style: dict[str, Any] = {"color": look.colour, "linestyle": look.dash or "none", "linewidth": look.width}
    style |= {"marker": look.marker or "none", "markersize": look.size}
    return style | ({"markerfacecolor": "none"} if look.hollow else {})


@_draw.register
def _(mark: chart.Line, axes: Axes) -> None:
    style = _style(mark.look) | {"label": mark.label or "_", "clip_on": not mark.beyond}
    style |= {"drawstyle": f"steps-{mark.steps}"} if mark.steps else {}
    axes.plot(mark.x, mark.y, **style)


@_draw.register
def _(mark: chart.Band, axes: Axes) -> None:
    axes.fill_between(mark.x, mark.low, mark.high, color=mark.colour, alpha=0.18, linewidth=0)


@_draw.register
def _(mark: chart.Whiskers, axes: Axes) -> None:
    colours: Any = list(mark.colours) if len(mark.colours) > 1 else mark.colours[0]
    style: dict[str, Any] = {"color": colours, "linewidth": mark.width, "alpha": mark.alpha, "label": mark.label or "_"}
    (axes.hlines if mark.across else axes.vlines)(mark.at, mark.low, mark.high, **style)


@_draw.register
def _(mark: chart.Bars, axes: Axes) -> None:
    left = mark.left or [0.0] * len(mark.at)
    colours = mark.colours if len(mark.colours) > 1 else [mark.colours[0]] * len(mark.at)
    style: dict[str, Any] = {"left": left, "height": mark.height, "color": colours, "alpha": mark.alpha}
    axes.barh(mark.at, mark.length, label=mark.label or "_", **style)


@_draw.register
def _(mark: chart.Histogram, axes: Axes) -> None:
    axes.stairs(mark.counts, mark.edges, orientation="horizontal", fill=True, color=mark.colour)


@_draw.register
def _(mark: chart.Rule, axes: Axes) -> None:
    style: dict[str, Any] = {"color": mark.look.colour, "linestyle": mark.look.dash, "linewidth": mark.look.width}
    (axes.axvline if mark.upright else axes.axhline)(mark.at, label=mark.label or "_", **style)


@_draw.register
def _(mark: chart.Shade, axes: Axes) -> None:
    axes.axhspan(mark.low, mark.high, color=mark.colour, alpha=0.13, linewidth=0, zorder=0)


@_draw.register
def _(mark: chart.Note, axes: Axes) -> None:
    style: dict[str, Any] = {"color": mark.colour, "fontsize": mark.size, "ha": mark.align, "va": mark.vertical}
    if mark.pin == "beside":
        axes.text(mark.x, mark.y, mark.text, transform=axes.get_yaxis_transform(), **style)
    elif mark.pin == "corner":
        axes.annotate(mark.text, (mark.x, mark.y), xycoords="axes fraction", linespacing=1.5, **style)
    elif mark.target:
        arrow = {"arrowstyle": "-", "color": "#b0b0b8", "linewidth": 0.6} if mark.leader else None
        axes.annotate(mark.text, (mark.x, mark.y), mark.target, arrowprops=arrow, annotation_clip=False, **style)
    else:
        offset: dict[str, Any] = {"xytext": (mark.right, mark.up), "textcoords": "offset points"}
        axes.annotate(mark.text, (mark.x, mark.y), annotation_clip=False, **offset, **style)


@_draw.register
def _(mark: chart.Cells, axes: Axes) -> None:
    """Cividis is even to the eye, also to a colour-blind one, and on paper without colours."""
    values = np.full((max(mark.y) + 1, max(mark.x) + 1), np.nan)
    centred: dict[str, Any] = {"ha": "center", "va": "center", "in_layout": False}
    for x, y, percent, words, ink in zip(mark.x, mark.y, mark.percents, mark.words, mark.inks, strict=True):
        best = percent == 100
        if percent is None:
            hatched: dict[str, Any] = {"facecolor": "#f4f4f6", "edgecolor": "#cfcfd6", "hatch": "////"}
            axes.add_patch(Rectangle((x, y), 1, 1, linewidth=0, **hatched))
        else:
            values[y, x] = percent
        if best:
            axes.add_patch(Rectangle((x + 0.04, y + 0.06), 0.92, 0.88, fill=False, edgecolor=INK, linewidth=1.3))
        if words:
            weight = "bold" if best else "normal"
            size = 6.5 if percent is None else 8
            axes.text(x + 0.5, y + 0.5, words, color=ink, fontsize=size, fontweight=weight, **centred)
    shown: dict[str, Any] = {"cmap": "cividis", "vmin": DARKEST_PERCENT, "vmax": 100, "edgecolor": "white"}
    axes.pcolormesh(np.ma.masked_invalid(values).clip(MIN_PERCENT), linewidth=0.8, zorder=0, **shown)
    axes.spines[:].set_visible(False)
