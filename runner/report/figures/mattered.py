"""The figures of a search's parameters: which ones mattered, and the values around the best case."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from runner.display.text import count, one_line
from runner.record.searched import Importance, Searched, Three, Value
from runner.report.figures.figure import COLOURS, CRIMSON, PALE, Figure, Results, Row, sheet
from runner.report.figures.search import limits

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

MOST_PARAMETERS = 24
MOST_PANELS = 12
MOST_LABELS = 9  # values of a parameter with a label
HEADROOM = 2.5  # a model's interval is cut beyond this multiple of the highest measured value


@dataclass(frozen=True)
class Mattered(Figure):
    """The shares of the parameters: one panel per objective, one line per parameter."""

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

    def draw(self) -> Drawing:
        """Draw the shares as points with their intervals."""
        from matplotlib.ticker import PercentFormatter  # noqa: PLC0415

        most = min(MOST_PARAMETERS, max(len(one.shares) for one in self.panels))
        figure, every = sheet(self.title, len(self.panels), len(self.panels), 0.75 + 0.24 * most)
        for axes, one in zip(every, self.panels, strict=True):
            names = list(one.shares)[:MOST_PARAMETERS]
            places = range(len(names))
            for place, name in zip(places, names, strict=True):
                middle, low, high = one.shares[name]
                axes.plot([low, high], [place, place], color=COLOURS[0], linewidth=3, alpha=0.35, solid_capstyle="butt")
                axes.plot([middle], [place], "o", color=COLOURS[0])
            axes.set_yticks(places, names)
            axes.set_ylim(len(names) - 0.5, -0.5)
            axes.set_xlim(-0.015, 1.015)
            axes.xaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
            axes.grid(visible=False, axis="y")
            axes.set_xlabel(f"share of the variance of {one.objective}")
        return figure


@dataclass(frozen=True)
class Slices(Figure):
    """The best case with one parameter varied: one panel per parameter."""

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

    def draw(self) -> Drawing:
        """Draw measured values as points with their intervals, and the model as a pale band."""
        columns = 2 if len(self.panels) == 4 else min(3, len(self.panels))
        figure, every = sheet(self.title, len(self.panels), columns, 2.3, sharey=True)
        measured = [v for values in self.panels.values() for one in values for v in one.measured or ()]
        models = [one.model for values in self.panels.values() for one in values if one.model and not one.measured]
        low, high = _range(measured, models)
        for n, (axes, (name, values)) in enumerate(zip(every, self.panels.items(), strict=True)):
            self._panel(axes, values)
            axes.set_xlabel(name)
            if n % columns == 0:
                axes.set_ylabel(self.objective)
        limits(every[0], low, high)
        top = every[0].get_ylim()[1]
        for axes, values in zip(every, self.panels.values(), strict=True):
            failed = [place for place, one in enumerate(values) if one.failed]
            if failed:
                axes.plot(failed, [top] * len(failed), "x", color=CRIMSON, clip_on=False, label="failed")
        handles = {h.get_label(): h for axes in every for h in axes.get_legend_handles_labels()[0]}
        figure.legend(handles=list(handles.values()), loc="outside lower center", ncols=len(handles))
        return figure

    def _panel(self, axes: Axes, values: Sequence[Value]) -> None:
        expected = [(place, one.model) for place, one in enumerate(values) if one.model and not one.measured]
        if expected:
            places = [place for place, _ in expected]
            middle, lower, upper = zip(*(three for _, three in expected), strict=True)
            axes.errorbar(places, middle, _ends(middle, lower, upper), fmt="none", ecolor=PALE, elinewidth=5,
                          alpha=0.25, label="not measured: the model's 95 % interval")  # fmt: skip
        for place, one in enumerate(values):
            if one.measured and one.is_best:
                axes.axhline(one.measured[0], color=PALE, linewidth=0.8, linestyle=":")
            if one.measured:
                look = ("D", COLOURS[1]) if one.is_best else ("o", COLOURS[0])
                ends = _ends(*([v] for v in one.measured))
                axes.errorbar([place], one.measured[:1], ends, fmt=look[0], color=look[1], linewidth=1.2,
                              label="the best case" if one.is_best else "measured")  # fmt: skip
        shown = range(0, len(values), 1 + (len(values) - 1) // MOST_LABELS)
        labels = [one_line(values[place].value, 14) for place in shown]
        labels = [w if values[place].legal else f"({w})" for w, place in zip(labels, shown, strict=True)]
        steep = sum(map(len, labels)) > 30
        axes.set_xticks(list(shown), labels, rotation=35 if steep else 0, ha="right" if steep else "center")
        axes.set_xlim(-0.6, len(values) - 0.4)


def _state(one: Value) -> str:
    if one.failed:
        return "failed"
    if one.measured:
        return "measured anew" if one.anew else "measured"
    return "not measured" if one.legal else "not allowed"


def _ends(middle: Sequence[float], low: Sequence[float], high: Sequence[float]) -> list[list[float]]:
    return [
        [max(m - v, 0.0) for m, v in zip(middle, low, strict=True)],
        [max(v - m, 0.0) for m, v in zip(middle, high, strict=True)],
    ]


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
