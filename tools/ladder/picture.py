"""The picture of a ladder: how near each of its steps comes to the limit."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.figure import Figure

from ladder.steps import PAYS, TO_THE_HOST, Step
from ladder.tables import Climb
from runner.report.figures.style import COLOURS, MARKERS, PALE, saved

WIDTH, STEP_HEIGHT, AROUND = 7.6, 0.27, 1.25  # inches


def drawn(title: str, steps: Sequence[str], climbs: Sequence[Climb]) -> bytes:
    """The picture, as SVG: a line a size.

    Args:
        title: Above it.
        steps: From the first, which is at the top.
        climbs: One a size; a step without a time there has no mark.
    """
    partial = {step.kernel for climb in climbs for step in climb.steps if not step.whole}
    names = [f"{name} *" if name in partial else name for name in steps]
    note = f"\n* {TO_THE_HOST}" if partial else ""

    def make() -> Figure:
        figure = Figure(figsize=(WIDTH, AROUND + STEP_HEIGHT * len(steps)), layout="constrained")
        axes = figure.add_subplot()
        for climb, colour, marker in zip(climbs, COLOURS, MARKERS, strict=False):
            places = [(_percent(climb, step), steps.index(step.kernel), step.pays) for step in climb.steps]
            axes.plot([x for x, _, _ in places], [y for _, y, _ in places], color=colour, linewidth=1.0)
            for pays, fill, label in ((True, colour, _size(climb)), (False, "white", None)):
                x, y = ([place[i] for place in places if place[2] is pays] for i in (0, 1))
                axes.plot(x, y, marker, color=colour, markerfacecolor=fill, label=label)
        axes.set_yticks(range(len(steps)), names)
        axes.invert_yaxis()
        axes.set_xlim(0, 102)
        axes.axvline(100, color=PALE, linewidth=1.0)
        faster = f"filled where it is at least {100 * (PAYS - 1):.0f} % faster than the step before"
        axes.set_xlabel(f"% of the limit; {faster}{note}")
        axes.set_title(title, loc="left")
        figure.legend(loc="outside upper right", ncols=len(climbs), frameon=False)
        return figure

    return saved(make, png=False)[0]


def in_words(climbs: Sequence[Climb]) -> str:
    """What is seen, for who does not see it: at each size the first step, and the best that leaves the whole result."""
    parts = []
    for climb in climbs:
        first, best = climb.steps[0], max((s for s in climb.steps if s.whole), key=lambda step: _percent(climb, step))
        ends = (f"{step.kernel} with {_percent(climb, step):.0f} %" for step in (first, best))
        parts.append(f"at {_size(climb)} from {' to '.join(ends)}")
    return f"How near each step comes to the limit: {'; '.join(parts)}"


def _size(climb: Climb) -> str:
    return f"{climb.sweep.dtype}, {climb.size}"


def _percent(climb: Climb, step: Step) -> float:
    return float(100 * climb.limit.us / step.row["median_us"])
