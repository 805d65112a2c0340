"""The figure of the comparison: how many times faster each case is, a panel a kernel, a colour and a marker a run."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from runner.compare.changes import Change, Comparison, Word
from runner.compare.runs import LAST, Row, varying
from runner.report.figures.axes import positions, set_x
from runner.report.figures.saving import saved
from runner.report.figures.style import PALE, Stroke, strokes
from runner.report.text import EMULATED, count, listed, one_line, value_of

MOST_PANELS = 12
MOST_POINTS = 1500  # of a vector picture: of more, the pixels are smaller
LEFT, RIGHT, TOP, BOTTOM, WIDE, HIGH, BETWEEN = 0.85, 0.2, 1.1, 0.62, 3.7, 2.1, 0.45
LEAST_WIDE = 8.0  # for title, notes and legend
"""Lengths in inches."""

STEPS = (1.001, 1.002, 1.005, 1.01, 1.02, 1.05, 1.1, 1.2, 1.5, 2, 3, 5, 10, 20, 50, 100, 1000)
BAND = "#d4d4d4"
CHANGED = frozenset((Word.FASTER, Word.SLOWER))


@dataclass(frozen=True)
class Panel:
    """One pair of axes: a kernel on a kind of device, and its changes with the number of their run."""

    kernel: str
    emulated: bool
    points: list[tuple[int, Change]]


@dataclass(frozen=True)
class Picture:
    """The drawn figure: its bytes and their type, and what it says in words."""

    content: bytes
    mime: str
    title: str
    note: str


def panels(comparisons: Sequence[Comparison]) -> list[Panel]:
    """A panel for each kernel that has times in two runs, those that changed first."""
    groups: dict[tuple[str, bool], list[tuple[int, Change]]] = {}
    for number, comparison in enumerate(comparisons, 1):
        for change in comparison.changes:
            if change.decision:
                key = (str(change.row["kernel"]), change.row["device"] == "cpu")
                groups.setdefault(key, []).append((number, change))
    found = [Panel(kernel, emulated, points) for (kernel, emulated), points in groups.items()]
    return sorted(found, key=lambda panel: not any(c.word in CHANGED for _, c in panel.points))


def draw(comparisons: Sequence[Comparison]) -> Picture | None:
    """The figure, as bytes that are the same whenever the comparison is; `None` where no case has two times."""
    all_panels = panels(comparisons)
    if not all_panels:
        return None
    shown = all_panels[:MOST_PANELS]
    runs = [comparison.other.short for comparison in comparisons]
    pixels = sum(len(panel.points) for panel in shown) > MOST_POINTS
    base = comparisons[0].base
    svg, png = saved(lambda: _figure(shown, base.short, base.parameters, runs), png=pixels)
    left_out = len(all_panels) - len(shown)
    further = _names([change.row for panel in shown for _, change in panel.points], base.parameters)[1:]
    notes = [
        f"Side by side: cases that differ in {listed(further)}." if further else "",
        "Filled: faster or slower. Hollow: the same, or inconclusive.",
        "Bars: 95 % intervals. Grey: changes that are too small to count.",
        f"{count(left_out, 'further kernel')} only in the table." if left_out else "",
        f"Device cpu: {EMULATED}." if any(panel.emulated for panel in shown) else "",
    ]
    title = f"Speed against {base.short}: above 1x is faster"
    return Picture(
        png if pixels else svg,
        "image/png" if pixels else "image/svg+xml",
        title,
        " ".join(note for note in notes if note),
    )


def _figure(shown: Sequence[Panel], base: str, parameters: Sequence[str], runs: Sequence[str]) -> Figure:
    columns = min(2, len(shown))
    lines = math.ceil(len(shown) / columns)
    wide = max(LEAST_WIDE, columns * (LEFT + WIDE + RIGHT))
    tall = TOP + lines * (HIGH + BOTTOM) + (lines - 1) * BETWEEN
    figure = Figure(figsize=(wide, tall))
    figure.text(0.12 / wide, 1 - 0.14 / tall, f"Speed against {base}", va="top", fontsize=12, fontweight="bold")
    emulated = f" {EMULATED[0].upper()}{EMULATED[1:]}." if any(panel.emulated for panel in shown) else ""
    note = f"Time of the baseline over time of the run.{emulated}"
    figure.text(0.12 / wide, 1 - 0.4 / tall, note, va="top", fontsize=8.5, color=PALE)
    looks = list(strokes([str(n) for n in range(len(runs))]).values())
    _legend(figure, tall, runs, looks)
    for n, panel in enumerate(shown):
        x = LEFT + n % columns * (LEFT + WIDE + RIGHT)
        y = tall - TOP - HIGH - n // columns * (HIGH + BOTTOM + BETWEEN)
        _panel(figure.add_axes((x / wide, y / tall, WIDE / wide, HIGH / tall)), panel, parameters, looks)
    return figure


def _legend(figure: Figure, tall: float, runs: Sequence[str], looks: Sequence[Stroke]) -> None:
    handles: list[Line2D | Patch] = [
        Line2D([], [], color=look.colour, marker=look.marker, linestyle="none", label=run)
        for run, look in zip(runs, looks, strict=True)
    ]
    handles.append(Patch(color=BAND, label="too little to count"))
    place = (0.0, 1 - 0.55 / tall)
    figure.legend(handles=handles, loc="upper left", bbox_to_anchor=place, ncols=4, frameon=False, fontsize=8.5)


def _panel(axes: Axes, panel: Panel, parameters: Sequence[str], looks: Sequence[Stroke]) -> None:
    emulated = " (emulated)" if panel.emulated else ""
    axes.set_title(f"{one_line(panel.kernel, 44)}{emulated}", loc="left", fontsize=9.5, fontweight="bold")
    places = _set_x(axes, [change.row for _, change in panel.points], parameters)
    ends = [end for _, change in panel.points for end in _ends(change)]
    most = max(1.012, *ends, *(1 / end for end in ends)) ** 1.12
    axes.set_yscale("log")
    axes.set_ylim(1 / most, most)
    ticks = _ticks(most)
    axes.yaxis.set_major_locator(FixedLocator(ticks))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.4g}x" if value > 1 else f"{value:.3g}x"))
    axes.set_ylabel("speed-up (more is faster)")
    axes.axhline(1, color=PALE, linewidth=1.1)
    middles, lows, highs = zip(*(_ends(change) for _, change in panel.points), strict=True)
    bands = [1 + (change.decision.threshold if change.decision else 0) for _, change in panel.points]
    axes.vlines(places, [1 / band for band in bands], bands, color=BAND, linewidth=7, zorder=1)
    axes.vlines(places, lows, highs, color=[looks[number - 1].colour for number, _ in panel.points], zorder=2)
    for number, changed in itertools.product(range(1, len(looks) + 1), (False, True)):
        mine = [n for n, (k, c) in enumerate(panel.points) if k == number and (c.word in CHANGED) == changed]
        look, filled = looks[number - 1], "full" if changed else "none"
        at, speeds = [places[n] for n in mine], [middles[n] for n in mine]
        axes.plot(at, speeds, color=look.colour, marker=look.marker, linestyle="none", fillstyle=filled, zorder=3)


def _set_x(axes: Axes, rows: list[Row], parameters: Sequence[str]) -> list[float]:
    """The place of each point: by its size, or by what else varies; points of one value stand side by side."""
    x = next(iter(_names(rows, parameters)), "block")
    values = positions(rows, x)
    set_x(axes, values, x)
    step = min((b - a for a, b in zip(sorted(values.values()), sorted(values.values())[1:], strict=False)), default=1.0)
    beside: dict[float, list[int]] = {}
    for n, row in enumerate(rows):
        beside.setdefault(values[value_of(x, row)], []).append(n)
    places = [0.0] * len(rows)
    for place, members in beside.items():
        for k, n in enumerate(members):
            places[n] = place + 0.6 * step * ((k + 0.5) / len(members) - 0.5)
    low, high = min(places), max(places)
    axes.set_xlim(low - 0.06 * (high - low) - 0.25 * step, high + 0.06 * (high - low) + 0.25 * step)
    return places


def _names(rows: Sequence[Row], parameters: Sequence[str]) -> list[str]:
    """The parameters that vary: the first is the x axis."""
    return [name for name in varying(rows, parameters) if name not in ("kernel", *LAST)]


def _ends(change: Change) -> tuple[float, float, float]:
    """The speed-up and the ends of its interval; it itself where there is none."""
    d = change.decision
    if d is None:
        return 1.0, 1.0, 1.0
    low, high = (1 / (d.change if math.isnan(end) else end) for end in (d.high, d.low))
    return 1 / d.change, low, high


def _ticks(most: float) -> list[float]:
    steps = [step for step in STEPS if step < most][-3:] or [STEPS[0]]
    return [*(1 / step for step in reversed(steps)), 1.0, *steps]
