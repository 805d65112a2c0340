"""The picture of a ladder: how near each of its steps comes to the limit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from matplotlib.figure import Figure

from ladder.steps import PAYS, TO_THE_HOST
from runner.report.figures.compact import compact
from runner.report.figures.saving import saved
from runner.report.figures.style import COLOURS, MARKERS, PALE

WIDTH, STEP_HEIGHT, AROUND = 7.6, 0.27, 1.25  # inches


@dataclass(frozen=True)
class Reached:
    """How near a step comes to the limit at a size.

    Attributes:
        percent: The limit's time over its own.
        gain: How many times as fast as the step that it is new against; `None` of the first.
        whole: Whether its launch leaves the whole result, nothing to the host.
    """

    percent: float
    gain: float | None
    whole: bool

    @property
    def pays(self) -> bool:
        """Whether it is so much faster that it counts; the first step is not slower than anything."""
        return self.gain is None or self.gain >= PAYS


def drawn(title: str, steps: Sequence[str], series: Mapping[str, Mapping[str, Reached]]) -> bytes:
    """The picture, as SVG.

    Args:
        title: Above it.
        steps: From the first, which is at the top.
        series: By size, what each step reaches; a step without a time has none.
    """
    partial = {name for reached in series.values() for name, it in reached.items() if not it.whole}
    names = [f"{name} *" if name in partial else name for name in steps]
    note = f"\n* {TO_THE_HOST}" if partial else ""

    def make() -> Figure:
        figure = Figure(figsize=(WIDTH, AROUND + STEP_HEIGHT * len(steps)), layout="constrained")
        axes = figure.add_subplot()
        for (size, reached), colour, marker in zip(series.items(), COLOURS, MARKERS, strict=False):
            places = [
                (reached[name].percent, at, reached[name].pays) for at, name in enumerate(steps) if name in reached
            ]
            axes.plot([x for x, _, _ in places], [y for _, y, _ in places], color=colour, linewidth=1.0)
            for pays in (True, False):
                x, y = ([place[i] for place in places if place[2] is pays] for i in (0, 1))
                fill = colour if pays else "white"
                label = size if pays else None
                axes.plot(x, y, marker, color=colour, markerfacecolor=fill, label=label)
        axes.set_yticks(range(len(steps)), names)
        axes.invert_yaxis()
        axes.set_xlim(0, 102)
        axes.axvline(100, color=PALE, linewidth=1.0)
        axes.set_xlabel(
            f"% of the limit; filled where it is at least {100 * (PAYS - 1):.0f} % faster than the step before{note}"
        )
        axes.set_title(title, loc="left")
        figure.legend(loc="outside upper right", ncols=len(series), frameon=False)
        return figure

    return compact(saved(make, png=False)[0])


def in_words(steps: Sequence[str], series: Mapping[str, Mapping[str, Reached]]) -> str:
    """What is seen, for who does not see it: the first step and the best, at each size."""
    parts = []
    for size, reached in series.items():
        first = next(name for name in steps if name in reached)
        best = max(reached, key=lambda name: reached[name].percent)
        parts.append(
            f"at {size} from {first} with {reached[first].percent:.0f} % to {best} with {reached[best].percent:.0f} %"
        )
    return f"How near each step comes to the limit: {'; '.join(parts)}"
