"""The figures of a search's parameters: which ones mattered, and the values around the best case."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from runner.display.text import count, one_line
from runner.record.searched import Importance, Searched, Three, Value
from runner.report.figures import chart
from runner.report.figures.chart import COLOURS, CRIMSON, PALE, Axis, Chart, Look
from runner.report.figures.figure import ChartFigure, Figure, Results, Row
from runner.report.figures.search import values_axis

MOST_PARAMETERS = 24
MOST_PANELS = 12
MOST_LABELS = 9  # values of a parameter with a label
HEADROOM = 2.5  # a model's interval is cut beyond this multiple of the highest measured value


@dataclass(frozen=True)
class Mattered(ChartFigure):
    """A panel for each objective, a line for each parameter."""

    section = "search"
    panels: Sequence[Importance]

    def rows(self) -> list[Row]:
        """One row per objective and parameter."""
        return [
            {
                "objective": one.objective,
                "parameter": name,
                "share": s[0],
                "low": s[1],
                "high": s[2],
                "cases": one.cases,
            }
            for one in self.panels
            for name, s in one.shares.items()
        ]

    def as_chart(self) -> Chart:
        """The shares as points with their intervals."""
        most = min(MOST_PARAMETERS, max(len(one.shares) for one in self.panels))
        percents = [(n / 5, f"{20 * n} %") for n in range(6)]
        panels = []
        for one in self.panels:
            shares = list(one.shares.items())[:MOST_PARAMETERS]
            middle, low, high = zip(*(three for _, three in shares), strict=True)
            places = range(len(shares))
            marks: list[chart.Mark] = [
                chart.Whiskers(places, low, high, [COLOURS[0]], 3, 0.35, across=True),
                chart.Line(middle, places, Look(COLOURS[0], "o", "")),
            ]
            x = Axis(f"share of the variance of {one.objective}", -0.015, 1.015, ticks=percents)
            y = Axis("", len(shares) - 0.5, -0.5, ticks=[(n, name) for n, (name, _) in enumerate(shares)], bare=True)
            panels.append(chart.Panel("", x, y, marks))
        return Chart(panels, len(panels), 0.75 + 0.24 * most)


@dataclass(frozen=True)
class Slices(ChartFigure):
    """A panel for each parameter: the values that it has beside the best case's others."""

    section = "search"
    objective: str
    panels: Mapping[str, Sequence[Value]]

    def rows(self) -> list[Row]:
        """One row per value."""
        return [
            {
                "parameter": name,
                "value": one.value,
                "state": _state(one),
                **dict(zip((self.objective, "low", "high"), one.measured or (), strict=False)),
                **dict(zip(("model", "model_low", "model_high"), one.model or (), strict=False)),
            }
            for name, values in self.panels.items()
            for one in values
        ]

    def as_chart(self) -> Chart:
        """Measured values as points with their intervals, and the model as a pale band."""
        columns = 2 if len(self.panels) == 4 else min(3, len(self.panels))
        measured = [v for values in self.panels.values() for one in values for v in one.measured or ()]
        models = [one.model for values in self.panels.values() for one in values if one.model and not one.measured]
        y = values_axis(self.objective, *_range(measured, models))
        panels = [
            chart.Panel("", _places(name, values), y if n % columns == 0 else replace(y, label=""), _marks(values, y))
            for n, (name, values) in enumerate(self.panels.items())
        ]
        return Chart(panels, columns, 2.3, share_y=True, legend="below", legend_columns=4)


def _places(name: str, values: Sequence[Value]) -> Axis:
    """The values of a parameter, those that are not allowed in brackets."""
    shown = range(0, len(values), 1 + (len(values) - 1) // MOST_LABELS)
    words = [one_line(values[place].value, 14) for place in shown]
    ticks = [(place, w if values[place].legal else f"({w})") for w, place in zip(words, shown, strict=True)]
    return Axis(name, -0.6, len(values) - 0.4, ticks=ticks, steep=sum(len(w) for _, w in ticks) > 30)


def _marks(values: Sequence[Value], y: Axis) -> list[chart.Mark]:
    marks = list[chart.Mark]()
    expected = [(place, one.model) for place, one in enumerate(values) if one.model and not one.measured]
    if expected:
        _, low, high = zip(*(three for _, three in expected), strict=True)
        words = "not measured: the model's 95 % interval"
        marks.append(chart.Whiskers([n for n, _ in expected], low, high, [PALE], 5, 0.25, label=words))
    for place, one in enumerate(values):
        if one.measured:
            middle, low_end, high_end = one.measured
            marker, colour = ("D", COLOURS[1]) if one.is_best else ("o", COLOURS[0])
            marks += [chart.Rule(middle, Look(PALE, dash=":", width=0.8))] if one.is_best else []
            marks.append(chart.Whiskers([place], [low_end], [high_end], [colour], 1.2))
            label = "the best case" if one.is_best else "measured"
            marks.append(chart.Line([place], [middle], Look(colour, marker, ""), label))
    if failed := [place for place, one in enumerate(values) if one.failed]:
        top = [float(y.high or 0)] * len(failed)
        marks.append(chart.Line(failed, top, Look(CRIMSON, "x", ""), "failed", beyond=True))
    return marks


def _state(one: Value) -> str:
    if one.failed:
        return "failed"
    if one.measured:
        return "measured anew" if one.anew else "measured"
    return "not measured" if one.legal else "not allowed"


def _range(measured: Sequence[float], models: Sequence[Three]) -> tuple[float, float]:
    """The range of the axis: all measured values, and the model's intervals up to `HEADROOM`."""
    low, high = min(measured), max(measured)
    ends = [end for three in models for end in three]
    if low > 0:
        return max(low / HEADROOM, min([low, *ends])), min(high * HEADROOM, max([high, *ends]))
    room = (high - low) or abs(high) or 1.0
    return max(low - room, min([low, *ends])), min(high + room, max([high, *ends]))


def figures(results: Results) -> list[Figure]:
    """Choose the figures of a search; an empty list for a rehearsal."""
    search = results.run.search
    if search is None or search.rehearsal:
        return []
    found: list[Figure] = []
    if panels := [one for one in search.importance if one.shares]:
        found.append(Mattered("mattered", "Which parameters mattered", _caption(panels), panels))
    order = list(panels[0].shares) if panels else list(search.slices)
    slices = {name: search.slices[name] for name in order if sum(v.legal for v in search.slices.get(name, ())) > 1}
    if any(one.measured and not one.is_best for values in slices.values() for one in values):
        cut = dict(list(slices.items())[:MOST_PANELS])
        found.append(Slices("slices", "Around the best case", _around(search, cut), search.objectives[0], cut))
    return found


def _around(search: Searched, panels: Mapping[str, Sequence[Value]]) -> str:
    values = [one for own in panels.values() for one in own]
    best = ", ".join(f"{n} {one.value}" for n, own in search.slices.items() for one in own if one.is_best)
    words = [f"The best case: {best}. Each panel varies one parameter alone. Bars: 95 % intervals of measured values."]
    if any(one.model and not one.measured for one in values):
        words.append("Grey: not measured; a model of all cases predicts these values.")
    if not all(one.legal for one in values):
        words.append("In brackets: not allowed beside the other values.")
    if left := len(search.slices) - len(panels):
        words.append(f"{count(left, 'parameter')} without a panel: no other value is allowed, or there is no room.")
    return " ".join(words)


def _caption(panels: Sequence[Importance]) -> str:
    cases, explained = panels[0].cases, math.floor(100 * min(one.explained for one in panels))
    return (
        "A share is what is left of the variance over all legal combinations where the others are fixed (total "
        "effect). Where parameters act together, the shares add up to more than 100 %. They come from a model of the "
        f"logarithm of {count(cases, 'measured case')}. Bars: 95 % intervals, from models of random halves of these, "
        f"which explain {explained} % of the variance of the other half. Failed cases are left out."
    )
