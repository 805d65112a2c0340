"""The figure of a search: the best so far against cases and seconds, or the Pareto front of two objectives."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import numpy as np

from runner.display.text import count
from runner.record.searched import Searched
from runner.report.figures import chart
from runner.report.figures.chart import COLOURS, CRIMSON, PALE, Axis, Chart, Look
from runner.report.figures.figure import Figure, Results, Row

MIN_CASES = 3  # measured cases of a figure
MAX_LABELS = 8  # cases of a front with a label
SCALE_SHARE = 0.8  # fraction of the cases within the scale
COARSE_TICKS, FINE_TICKS = (1.0, 1.5, 2.0, 3.0, 5.0, 7.0), (1, 1.2, 1.4, 1.6, 1.8, 2, 2.5, 3, 4, 5, 6, 7, 8, 9)


def figures(results: Results) -> list[Figure]:
    """Choose the figure of a search; an empty list for other runs and for a rehearsal."""
    search = results.run.search
    if search is None or search.rehearsal or sum(bool(case.results) for case in search.cases) < MIN_CASES:
        return []
    caption = "Values of the batches, with drift taken out."
    if search.remeasured:
        caption += f" Diamonds: {count(len(search.remeasured), 'case')} measured again at the end, side by side."
    if len(search.objectives) > 1:
        return [_front(search, caption)]
    rows = _course(search)
    title = f"The best {search.objectives[0]} so far"
    return [Figure("search", "best-so-far", title, caption, table=rows, chart=_course_chart(search, rows))]


def _course(search: Searched) -> list[Row]:
    """One row per case, in order. `best` is NaN before the first case that did not fail."""
    best, rows = np.nan, list[Row]()
    better = np.fmax if search.higher[0] else np.fmin
    for case in search.cases:
        value, anew = case.results[0] if case.results else np.nan, search.remeasured.get(case.point)
        best = float(better(best, value))
        rows.append(
            {"case": case.number, "seconds": case.seconds, search.objectives[0]: value, "best": best}
            | ({"anew": anew[0][0], "anew_low": anew[0][1], "anew_high": anew[0][2]} if anew else {})
        )
    return rows


def _course_chart(search: Searched, rows: Sequence[Row]) -> Chart:
    """The cases as points, the failed ones at the worse edge, and the best so far as a line."""
    name, higher = search.objectives[0], search.higher[0]
    good = np.array([row[name] for row in rows if np.isfinite(row[name])])
    ends = [end for row in rows if "anew" in row for end in (row["anew_low"], row["anew_high"])]
    ends += [row["best"] for row in rows if np.isfinite(row["best"])]
    # Very slow cases are drawn at the edge, so that they do not flatten the line.
    edge = float(np.quantile(good, 1 - SCALE_SHARE if higher else SCALE_SHARE))
    y = values_axis(name, min(edge, *ends), max(edge, *ends))
    panels = [
        chart.Panel("", Axis(label), y if x == "case" else replace(y, label=""), _marks(rows, name, higher, x, y))
        for x, label in (("case", "cases"), ("seconds", "seconds"))
    ]
    return Chart(panels, 2, 3.1, share_y=True, legend="below", legend_columns=5)


def _marks(rows: Sequence[Row], name: str, higher: bool, x: str, y: Axis) -> list[chart.Mark]:  # noqa: FBT001
    bottom, top = float(y.low or 0), float(y.high or 0)
    worse = bottom if higher else top
    best, valid = [r for r in rows if np.isfinite(r["best"])], [r for r in rows if np.isfinite(r[name])]
    within = [r for r in valid if bottom <= r[name] <= top]
    marks: list[chart.Mark] = [
        chart.Line([r[x] for r in within], [r[name] for r in within], Look(PALE, ".", "", size=4), "case"),
        chart.Line([r[x] for r in best], [r["best"] for r in best], Look(COLOURS[0]), "best so far", "post"),
    ]
    if anew := [r for r in rows if "anew" in r]:
        places, low, middle, high = ([r[key] for r in anew] for key in (x, "anew_low", "anew", "anew_high"))
        marks.append(chart.Whiskers(places, low, high, [COLOURS[1]]))
        look = Look(COLOURS[1], "D", "", size=4.5, hollow=True)
        marks.append(chart.Line(places, middle, look, "measured again at the end"))
    if beyond := [r[x] for r in valid if not bottom <= r[name] <= top]:
        look = Look(PALE, "|", "", size=6)
        marks.append(chart.Line(beyond, [worse] * len(beyond), look, "case beyond the scale", beyond=True))
    if failed := [r[x] for r in rows if not np.isfinite(r[name])]:
        marks.append(chart.Line(failed, [worse] * len(failed), Look(CRIMSON, "x", ""), "failed", beyond=True))
    return marks


def _front(search: Searched, caption: str) -> Figure:
    """The cases of a search for two things at once, and the Pareto front as a line of steps."""
    first, second = search.objectives
    rows = _front_rows(search)
    front = sorted((row for row in rows if row["on_front"]), key=lambda row: float(row[first]))
    by_number = {case.number: case.point for case in search.cases}
    points = [by_number[row["case"]] for row in front]
    every = search.parameters
    names = [n for place, n in enumerate(every) if len({point[place] for point in points}) > 1] or every
    words = "; ".join(f"{n}: {search.described(p, names)}" for n, p in enumerate(points[:MAX_LABELS], 1))
    what = "The line is the Pareto front: no other case is better in both objectives than a case on it."
    caption = f"{what} {caption} {words}."

    def line(rows: Sequence[Row], look: Look, label: str, steps: Literal["", "pre", "post"] = "") -> chart.Line:
        return chart.Line([row[first] for row in rows], [row[second] for row in rows], look, label, steps)

    marks: list[chart.Mark] = [
        line(rows, Look(PALE, ".", "", size=4), "case"),
        line(front, Look(COLOURS[0], "o", width=1.2), "Pareto front", "pre" if search.higher[0] else "post"),
    ]
    if anew := [row for row in rows if row["measured_anew"]]:
        marks.append(line(anew, Look(COLOURS[1], "D", "", size=8, hollow=True), "measured again at the end"))
    marks += [
        chart.Note(row[first], row[second], str(number), 5, 4, size=9, vertical="baseline")
        for number, row in enumerate(front[:MAX_LABELS], 1)
    ]
    x, y = (_front_axis(name, [row[name] for row in rows]) for name in (first, second))
    picture = Chart([chart.Panel("", x, y, marks)], 1, 4.2, legend="below", legend_columns=3)
    return Figure("search", "pareto-front", f"{first} against {second}", caption, table=rows, chart=picture)


def _front_rows(search: Searched) -> list[Row]:
    """One row per case that did not fail, with its last values, and whether it is on the Pareto front."""
    values = {
        c.point: tuple(v[0] for v in search.remeasured.get(c.point, ())) or c.results for c in search.cases if c.results
    }
    signs = [-1 if higher else 1 for higher in search.higher]
    costs = {point: tuple(s * v for s, v in zip(signs, own, strict=True)) for point, own in values.items()}
    best, front = (math.inf, math.inf), set[tuple[float, ...]]()
    for pair in sorted(costs.values()):
        if pair[1] < best[1] or pair == best:
            best = (pair[0], pair[1])
            front.add(pair)
    return [
        {"case": case.number, **dict(zip(search.objectives, values[case.point], strict=True)),
         "measured_anew": case.point in search.remeasured, "on_front": costs[case.point] in front}
        for case in search.cases
        if case.point in values
    ]  # fmt: skip


def _front_axis(name: str, values: Sequence[float]) -> Axis:
    if min(values) > 0 and max(values) > 3 * min(values):
        return Axis(name, min(values) * 0.9, max(values) * 1.1, log=True)
    return Axis(name)


def values_axis(label: str, low: float, high: float) -> Axis:
    """The axis of an objective: logarithmic if its values are positive."""
    if low <= 0:
        room = 0.04 * (high - low) or 1.0
        return Axis(label, low - room, high + room)
    room = max((high / low) ** 0.04, 1.005)
    low, high = low / room, high * room
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)))
    ticks = [m * 10.0**k for k in decades for m in (FINE_TICKS if high / low < 4 else COARSE_TICKS)]
    there = [(tick, f"{tick:,.10g}") for tick in ticks if low <= tick <= high]
    named = there if 1.5 <= high / low < 20 and len(there) > 1 else None
    return Axis(label, low, high, log=True, ticks=named)
