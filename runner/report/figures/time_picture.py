"""Drawing times and bandwidths: lines with their names at their ends, and bars."""

from __future__ import annotations

from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from runner.report.figures.axes import positions, set_x, set_y
from runner.report.figures.labels import GAP_INCHES, End, label
from runner.report.figures.multiples import Room, multiples
from runner.report.figures.plots import Panel, Plot, bar_name, line_name
from runner.report.figures.style import BACKGROUND, PALE, Stroke
from runner.report.ratio import Ratio
from runner.report.text import absent, beside, exact, one_line, rough, value_of

LEFT, ABOVE, LETTER = 1.05, 0.97, 0.078
"""At the left of axes, between two above one another, and the width of a letter of a label, in inches."""


def draw(plot: Plot, strokes: dict[str, Stroke], ratios: dict[int, Ratio]) -> Figure:
    """The figure of a plot."""
    return _bars(plot, strokes, ratios) if plot.kind == "bars" else _lines(plot, strokes)


def _lines(plot: Plot, strokes: dict[str, Stroke]) -> Figure:
    rows = [row for panel in plot.panels for row in panel.rows]
    finish = len({row["finish"] for row in rows}) > 1
    names = {line_name(row, finish=finish) for row in rows}
    room = LETTER * max(16, *(len(name) for name in names)) + 0.42
    height = max(2.6 if len(plot.panels) > 1 else 3.4, GAP_INCHES * (len(names) + 3))
    columns = min(2, len(plot.panels))
    width = 5.2 if columns == 1 else 3.7
    measures = Room(width, height, LEFT, room, LEFT + room, ABOVE, 0.1 if len(plot.panels) > 1 else 0)
    figure, all_axes = multiples(plot.title, plot.notes, len(plot.panels), columns, measures)
    for axes, panel in zip(all_axes, plot.panels, strict=True):
        axes.set_title(one_line(panel.title, 60), loc="left", fontsize=9.5, fontweight="bold")
        places = positions(rows, plot.x)
        set_x(axes, places, plot.x)
        y = panel.y or plot.y
        _set_values(axes, plot, y, panel.rows if panel.y else rows)
        looks = {**strokes, **dict.fromkeys(plot.pale, BACKGROUND)}
        lines = sorted(_by_kernel(panel), key=lambda line: line[0]["kernel"] not in plot.pale)  # the grey ones below
        ends = [_line(axes, (plot.x, y), places, line, looks, finish=finish) for line in lines]
        label(axes, [*ends, *_limits(axes, plot, panel)], height)
    return figure


def _line(
    axes: Axes,
    of: tuple[str, str],
    places: dict[str, float],
    rows: list[dict[str, Any]],
    strokes: dict[str, Stroke],
    *,
    finish: bool,
) -> End:
    """One kernel's line with the band of its quartiles; returns its right end."""
    rows = sorted(rows, key=lambda row: places[value_of(of[0], row)])
    x = [places[value_of(of[0], row)] for row in rows]
    y = [row[of[1]] for row in rows]
    stroke = strokes[rows[0]["kernel"]]
    low, high = zip(*(_quartiles(row, of[1]) for row in rows), strict=True)
    axes.fill_between(x, low, high, color=stroke.colour, alpha=0.18, linewidth=0)
    width = 0.8 if stroke == BACKGROUND else 1.6
    axes.plot(x, y, color=stroke.colour, marker=stroke.marker, linestyle=stroke.dash, linewidth=width)
    return End(line_name(rows[0], finish=finish), x[-1], y[-1], stroke)


def _quartiles(row: dict[str, Any], y: str) -> tuple[float, float]:
    """The quartiles in the unit of the y axis; the median twice where they are not known."""
    if absent(row["q1_us"]) or absent(row["q3_us"]) or row["q1_us"] <= 0:
        return row[y], row[y]
    if y not in ("median_us", "gbps"):
        return row[y], row[y]
    if y == "median_us":
        return row["q1_us"], row["q3_us"]
    return row[y] * row["median_us"] / row["q3_us"], row[y] * row["median_us"] / row["q1_us"]


def _limits(axes: Axes, plot: Plot, panel: Panel) -> list[End]:
    """The hardware's limits beside the bandwidths: the peak, and what a copy on the device reached."""
    ends = []
    for column, name in [("percent_peak", "peak"), ("percent_copy", "copy")] if plot.y == "gbps" else []:
        limit = ceiling(panel.rows, column)
        if limit and limit <= axes.get_ylim()[1]:
            axes.axhline(limit, color=PALE, linewidth=1.1, linestyle=(0, (6, 3) if name == "peak" else (1, 2)))
            ends.append(End(f"{name} {limit:,.0f} GB/s", axes.get_xlim()[1], limit, None))
    return ends


def ceiling(rows: list[dict[str, Any]], column: str) -> float | None:
    """The bandwidth of which a column is the percentage; None where rows disagree by more than rounding."""
    known = [100 * row["gbps"] / row[column] for row in rows if not absent(row[column]) and row[column] > 0]
    if not known or max(known) > 1.03 * min(known):
        return None
    return float(sorted(known)[len(known) // 2])


def _set_values(axes: Axes, plot: Plot, y: str, rows: list[dict[str, Any]]) -> None:
    values = [value for row in rows for value in (row[y], *_quartiles(row, y))]
    if y not in ("median_us", "gbps"):
        set_y(axes, 0, max(values), f"{y} (less is better)", log=False)
        return
    if y == "gbps":
        limits = [limit for column in ("percent_peak", "percent_copy") if (limit := ceiling(rows, column))]
        set_y(axes, 0, max([*values, *limits]), "gbps (GB/s, more is better)", log=False)
        return
    whose = "emulated on the CPU device" if plot.emulated else "less is better"
    log = plot.x == "size" or max(values) > 4 * min(values)
    set_y(axes, min(values), max(values), f"median_us (µs, {whose})", log=log)


def _by_kernel(panel: Panel) -> list[list[dict[str, Any]]]:
    lines: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in panel.rows:
        lines.setdefault((row["kernel"], row["finish"]), []).append(row)
    return list(lines.values())


def _bars(plot: Plot, strokes: dict[str, Stroke], ratios: dict[int, Ratio]) -> Figure:
    rows = [row for panel in plot.panels for row in panel.rows]
    finish = len({row["finish"] for row in rows}) > 1
    names = [bar_name(row, plot.named, finish=finish) for row in rows]
    height = 0.32 * max(len(panel.rows) for panel in plot.panels) + 0.15
    left = LETTER * max(len(name) for name in names) + 0.25
    right = 0.071 * max(len(_bar_text(row, ratios.get(row["row"]))) for row in rows) + 0.2
    width = 5.2 if right < 3.5 else 4.0
    measures = Room(width, height, left, right, left + right, ABOVE, 0.1 if len(plot.panels) > 1 else 0)
    figure, all_axes = multiples(plot.title, plot.notes, len(plot.panels), 1, measures)
    for axes, panel in zip(all_axes, plot.panels, strict=True):
        axes.set_title(one_line(panel.title, 60), loc="left", fontsize=9.5, fontweight="bold")
        for place, row in enumerate(panel.rows):
            _bar(axes, place, row, strokes[row["kernel"]], ratios.get(row["row"]))
        axes.set_yticks(range(len(panel.rows)), [bar_name(row, plot.named, finish=finish) for row in panel.rows])
        axes.set_ylim(len(panel.rows) - 0.4, -0.6)  # the fastest on top
        axes.set_xlim(0, 1.02 * max(max(row["median_us"], _quartiles(row, "median_us")[1]) for row in rows))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))
        axes.grid(visible=False, axis="y")
        axes.set_xlabel(f"median_us (µs, {'emulated on the CPU device' if plot.emulated else 'less is better'})")
    return figure


def _bar(axes: Axes, place: int, row: dict[str, Any], stroke: Stroke, ratio: Ratio | None) -> None:
    low, high = _quartiles(row, "median_us")
    axes.barh(place, row["median_us"], height=0.62, color=stroke.colour, alpha=0.85)
    axes.plot([low, high], [place, place], color="black", linewidth=1)
    offset: dict[str, Any] = {"xytext": (5, 0), "textcoords": "offset points", "va": "center", "fontsize": 8.5}
    axes.annotate(_bar_text(row, ratio), (max(high, row["median_us"]), place), annotation_clip=False, **offset)


def _bar_text(row: dict[str, Any], ratio: Ratio | None) -> str:
    words = [f"{exact(row['median_us'])} µs", "" if absent(row["gbps"]) else f"{rough(row['gbps'])} GB/s"]
    words.append(f"{ratio.times:.2f}x against {one_line(row['baseline'], 20)}" if ratio else "")
    words.append(beside(row))
    return ", ".join(word for word in words if word)
