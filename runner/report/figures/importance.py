"""The figures of a search's parameters: which ones mattered, and the values around the best case."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from runner.display.text import count, one_line, sentences
from runner.record.searched import Importance, Searched, Three, Value
from runner.report.figures import chart
from runner.report.figures.chart import COLOURS, CRIMSON, PALE, Axis, Chart, Look
from runner.report.figures.figure import Figure, Results
from runner.report.figures.search import values_axis

MAX_PARAMETERS = 24
MAX_PANELS = 12
MAX_LABELS = 9  # values of a parameter with a label
HEADROOM = 2.5  # a model's interval is cut beyond this multiple of the highest measured value


def figures(results: Results) -> list[Figure]:
    """Choose the figures of a search; an empty list for a rehearsal."""
    search = results.run.search
    if search is None or search.rehearsal:
        return []
    panels = [objective for objective in search.importance if objective.shares]
    chosen = [_importance(panels)] if panels else []
    order = list(panels[0].shares) if panels else list(search.slices)
    slices = {name: search.slices[name] for name in order if sum(v.legal for v in search.slices.get(name, ())) > 1}
    if any(value.measured and not value.is_best for values in slices.values() for value in values):
        chosen.append(_slices(search, dict(list(slices.items())[:MAX_PANELS])))
    return chosen


def _importance(panels: Sequence[Importance]) -> Figure:
    """A panel for each objective, a line for each parameter."""
    rows = [
        {"objective": panel.objective, "parameter": name, "share": share, "low": low, "high": high,
         "cases": panel.cases}
        for panel in panels
        for name, (share, low, high) in panel.shares.items()
    ]  # fmt: skip
    cases, explained = panels[0].cases, math.floor(100 * min(panel.explained for panel in panels))
    caption = (
        "A share is what is left of the variance over all legal combinations where the others are fixed (total "
        "effect). Where parameters act together, the shares add up to more than 100 %. They come from a model of the "
        f"logarithm of {count(cases, 'measured case')}. Bars: 95 % intervals, from models of random halves of these, "
        f"which explain {explained} % of the variance of the other half. Failed cases are left out."
    )
    most = min(MAX_PARAMETERS, max(len(panel.shares) for panel in panels))
    picture = Chart(list(map(_shares, panels)), len(panels), 0.75 + 0.24 * most)
    return Figure("search", "mattered", "Which parameters mattered", caption, table=rows, chart=picture)


def _shares(panel: Importance) -> chart.Panel:
    shares = dict(list(panel.shares.items())[:MAX_PARAMETERS])
    middle, low, high = zip(*shares.values(), strict=True)
    places = range(len(shares))
    marks: list[chart.Mark] = [
        chart.Whiskers(places, low, high, [COLOURS[0]], 3, 0.35, across=True),
        chart.Line(middle, places, Look(COLOURS[0], "o", "")),
    ]
    percents = [(n / 5, f"{20 * n} %") for n in range(6)]
    x = Axis(f"share of the variance of {panel.objective}", -0.015, 1.015, ticks=percents)
    y = Axis("", len(shares) - 0.5, -0.5, ticks=list(enumerate(shares)), bare=True)
    return chart.Panel("", x, y, marks)


def _slices(search: Searched, panels: Mapping[str, Sequence[Value]]) -> Figure:
    """A panel for each parameter: the values that it has beside the best case's others, and the model as a band."""
    objective, every = search.objectives[0], [(name, value) for name, values in panels.items() for value in values]
    rows = [
        {
            "parameter": name,
            "value": value.value,
            "state": _state(value),
            **dict(zip((objective, "low", "high"), value.measured or (), strict=False)),
            **dict(zip(("model", "model_low", "model_high"), value.model or (), strict=False)),
        }
        for name, value in every
    ]
    models = [value.model for _, value in every if value.model and not value.measured]
    best = ", ".join(f"{name} {v.value}" for name, values in search.slices.items() for v in values if v.is_best)
    left_out = count(len(search.slices) - len(panels), "parameter")
    caption = sentences(
        f"The best case: {best}. Each panel varies one parameter alone. Bars: 95 % intervals of measured values.",
        "Grey: not measured; a model of all cases predicts these values." if models else "",
        "" if all(value.legal for _, value in every) else "In brackets: not allowed beside the other values.",
        f"{left_out} without a panel: no other value is allowed, or there is no room."
        if len(search.slices) > len(panels)
        else "",
    )
    columns = 2 if len(panels) == 4 else min(3, len(panels))
    y = values_axis(objective, *_range([end for _, value in every for end in value.measured or ()], models))
    picture = Chart(
        [
            chart.Panel("", _parameter_axis(name, values), replace(y, label="" if n % columns else y.label),
                        _marks(values, y))
            for n, (name, values) in enumerate(panels.items())
        ],
        columns, 2.3, share_y=True, legend="below", legend_columns=4,
    )  # fmt: skip
    return Figure("search", "slices", "Around the best case", caption, table=rows, chart=picture)


def _parameter_axis(name: str, values: Sequence[Value]) -> Axis:
    """The values of a parameter, those that are not allowed in brackets."""
    shown = range(0, len(values), 1 + (len(values) - 1) // MAX_LABELS)
    words = [one_line(values[place].value, 14) for place in shown]
    ticks = [(place, w if values[place].legal else f"({w})") for w, place in zip(words, shown, strict=True)]
    return Axis(name, -0.6, len(values) - 0.4, ticks=ticks, steep=sum(len(w) for _, w in ticks) > 30)


def _marks(values: Sequence[Value], y: Axis) -> list[chart.Mark]:
    marks = list[chart.Mark]()
    expected = [(place, value.model) for place, value in enumerate(values) if value.model and not value.measured]
    if expected:
        _, low, high = zip(*(model for _, model in expected), strict=True)
        words = "not measured: the model's 95 % interval"
        marks.append(chart.Whiskers([n for n, _ in expected], low, high, [PALE], 5, 0.25, label=words))
    for place, value in enumerate(values):
        if value.measured:
            middle, low_end, high_end = value.measured
            if value.is_best:
                marks.append(chart.Rule(middle, Look(PALE, dash=":", width=0.8)))
            look = Look(COLOURS[1], "D", "") if value.is_best else Look(COLOURS[0], "o", "")
            label = "the best case" if value.is_best else "measured"
            marks.append(chart.Whiskers([place], [low_end], [high_end], [look.colour], 1.2))
            marks.append(chart.Line([place], [middle], look, label))
    if failed := [place for place, value in enumerate(values) if value.failed]:
        top = [float(y.high or 0)] * len(failed)
        marks.append(chart.Line(failed, top, Look(CRIMSON, "x", ""), "failed", beyond=True))
    return marks


def _state(value: Value) -> str:
    if value.failed:
        return "failed"
    if value.measured:
        return "measured again" if value.remeasured else "measured"
    return "not measured" if value.legal else "not allowed"


def _range(measured: Sequence[float], models: Sequence[Three]) -> tuple[float, float]:
    """The range of the axis: all measured values, and the model's intervals up to `HEADROOM`."""
    low, high = min(measured), max(measured)
    ends = [end for model in models for end in model]
    if low > 0:
        return max(low / HEADROOM, min([low, *ends])), min(high * HEADROOM, max([high, *ends]))
    room = (high - low) or abs(high) or 1.0
    return max(low - room, min([low, *ends])), min(high + room, max([high, *ends]))
