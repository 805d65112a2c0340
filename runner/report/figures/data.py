"""What a figure shows, as a table: the CSV beside it. Pure: dictionaries in, rows out."""

from __future__ import annotations

import csv
import io
from typing import Any

from runner.report.figures.choose import Drawable
from runner.report.figures.heat_map import HeatPlot
from runner.report.figures.lanes.choice import LanePlot
from runner.report.figures.lanes.steps import TOLD
from runner.report.figures.plots import Plot
from runner.report.figures.raw import RawPlot
from runner.report.figures.speedup import SpeedupPlot
from runner.report.figures.status_grid import GridPlot
from runner.report.ratio import Ratio
from runner.report.text import absent

TIMES = ("median_us", "q1_us", "q3_us")
BANDWIDTHS = ("gbps", "percent_peak", "percent_copy")

Row = dict[str, Any]


def data(plot: Drawable, ratios: dict[int, Ratio]) -> list[Row]:
    """The rows of a figure's table: one a point, bar, cell, element or sample."""
    match plot:
        case Plot():
            return _times(plot, ratios)
        case HeatPlot():
            return _cells(plot)
        case SpeedupPlot():
            return _speedups(plot)
        case GridPlot():
            return _statuses(plot)
        case LanePlot():
            return _elements(plot)
        case RawPlot():
            return _samples(plot)


def as_csv(rows: list[Row]) -> bytes:
    """The rows with a line of names; without the columns that hold nothing."""
    names = dict.fromkeys(name for row in rows for name in row)
    kept = [name for name in names if any(not absent(row.get(name)) for row in rows)]
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(kept)
    writer.writerows([_written(row.get(name)) for name in kept] for row in rows)
    return stream.getvalue().encode("utf-8", errors="replace")


def _written(value: Any) -> str:
    if absent(value):
        return ""
    return f"{value:.9g}" if isinstance(value, float) else str(value)


def _case(row: Row, names: tuple[str, ...]) -> Row:
    """What tells a case from others: a size of two sides with both of them."""
    told = dict.fromkeys(("case", "kernel", *names))
    sides = ("rows", "cols") if "size" in told else ()
    return {name: row.get(name) for name in (*told, *sides, "finish")}


def _times(plot: Plot, ratios: dict[int, Ratio]) -> list[Row]:
    rows = []
    for panel in plot.panels:
        for row in panel.rows:
            ratio = ratios.get(row["row"]) if plot.kind == "bars" else None
            told = {name: row[name] for name in (*TIMES, *BANDWIDTHS, *([panel.y] if panel.y else []))}
            against = {"speedup": ratio.times, "baseline": row["baseline"]} if ratio else {}
            rows.append({"panel": panel.title, **_case(row, plot.parameters), **told, **against})
    return rows


def _cells(plot: HeatPlot) -> list[Row]:
    return [
        {
            "panel": panel.title,
            **_case(cell.row, plot.parameters),
            "status": cell.row["status"],
            "percent_of_best": cell.percent,
            **({name: cell.row[name] for name in ("median_us", "gbps")} if cell.percent is not None else {}),
        }
        for panel in plot.panels
        for line in panel.cells
        for cell in line
        if cell
    ]


def _speedups(plot: SpeedupPlot) -> list[Row]:
    return [
        {
            "panel": panel.title,
            **_case(row, plot.parameters),
            "baseline": row["baseline"],
            "speedup": ratio.times,
            "speedup_low": ratio.low,
            "speedup_high": ratio.high,
            "speedup_mean": point.times,
        }
        for panel in plot.panels
        for point in panel.points
        for row, ratio in point.cases
    ]


def _statuses(plot: GridPlot) -> list[Row]:
    return [
        {
            "row": name,
            plot.across or "cases": column,
            "status": cell.words,
            "reason": plot.reasons[cell.reason - 1] if cell.reason else "",
        }
        for name, cells in zip(plot.down, plot.cells, strict=True)
        for column, cell in zip(plot.columns, cells, strict=True)
        if cell
    ]


def _elements(plot: LanePlot) -> list[Row]:
    return [
        {
            "kernel": step.kernel,
            "shuffle": step.name,
            **{name: step.value(name) for name in TOLD},
            "element": element.index,
            "lane": element.lane,
            "received": element.got,
            "by_the_rule": element.source,
            "fate": element.fate,
        }
        for step in plot.steps
        for element in step.elements
    ]


def _samples(plot: RawPlot) -> list[Row]:
    names = [str(name) for name in plot.samples.dtype.names or ()]
    return [
        {"sample": place, **dict(zip(names, values, strict=True))} for place, values in enumerate(plot.samples.tolist())
    ]
