"""Axes whose ticks a reader of kernel timings expects: sizes as powers of two, times in plain numbers."""

from __future__ import annotations

import math
from typing import Any

from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, MaxNLocator, NullLocator

from runner.report.text import one_line, power, value_of

NOTHING = -1.0  # where an array of no elements stands, whose size has no logarithm: left of one element


def positions(rows: list[dict[str, Any]], x: str) -> dict[str, float]:
    """Where each value of the column stands on the x axis: by its logarithm if it is a size, else one after another."""
    values = {value_of(x, row): row for row in rows}
    if x == "size" and len({row["size"] for row in values.values()}) == len(values):
        return {value: math.log2(row["size"]) if row["size"] else NOTHING for value, row in values.items()}
    ordered = sorted(values, key=lambda value: _order(x, values[value]))
    return {value: float(place) for place, value in enumerate(ordered)}


def set_x(axes: Axes, places: dict[str, float], x: str) -> None:
    """Ticks, label and limits of the x axis."""
    low, high = min(places.values()), max(places.values())
    margin = 0.04 * (high - low) or 0.5
    axes.set_xlim(low - margin, high + margin)
    ticks = {place: one_line(value, 14) for value, place in places.items()}
    if x == "size" and not all("x" in value for value in places):
        whole = range(math.ceil(low - 1e-9), math.floor(high + 1e-9) + 1)
        ticks = (
            {float(k): power(2**k) if k >= 0 else "0" for k in whole[:: 1 + len(whole) // 10]}
            if len(whole) > 1
            else ticks
        )
    axes.xaxis.set_major_locator(FixedLocator(list(ticks)))
    steep = sum(len(label) for label in ticks.values()) > 52
    axes.set_xticklabels(ticks.values(), rotation=35 if steep else 0, ha="right" if steep else "center")
    shapes = "rows x columns" if all("x" in value for value in places) else "elements"
    unit = {"size": f"size ({shapes})", "block": "block (threads)", "width": "width (lanes)"}.get(x, one_line(x, 30))
    axes.set_xlabel(unit)


def set_y(axes: Axes, low: float, high: float, label: str, *, log: bool) -> None:
    """Ticks, label and limits of the y axis."""
    axes.set_ylabel(label)
    if not log:
        axes.set_ylim(0, high * 1.06)
        axes.yaxis.set_major_locator(MaxNLocator(6))
    else:
        axes.set_yscale("log")
        axes.set_ylim(low / 1.15, high * 1.15)
        axes.yaxis.set_major_locator(_logarithmic(low, high))
        axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))


def _logarithmic(low: float, high: float) -> LogLocator | FixedLocator:
    if high / low < 6:  # fewer than three of 1, 2, 5 would fall into so narrow a range
        return FixedLocator([tick for tick in MaxNLocator(5).tick_values(low, high) if tick > 0])
    return LogLocator(subs=(1, 2, 5) if high / low < 3000 else (1,), numticks=20)


def _order(x: str, row: dict[str, Any]) -> tuple[Any, ...]:
    value = row[x]
    if x == "block":
        return _number(row["block_x"], value) * _number(row["block_y"], "1"), value
    if x == "size":
        return int(row["size"]), value_of(x, row)
    return (0, _number(value, value), "") if _number(value, value) >= 0 else (1, 0, str(value))


def _number(*candidates: Any) -> int:
    """The first candidate that reads as a whole number, in any of C's notations; -1 if none does."""
    for candidate in candidates:
        try:
            return int(str(candidate), 0)
        except ValueError:
            continue
    return -1
