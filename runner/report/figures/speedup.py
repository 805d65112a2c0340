"""How much faster each kernel is than its declared baseline, against the size. Pure: no drawing here.

A point is the geometric mean of the ratios of one size; the cases behind it are shown beside it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import pandas as pd

from runner.report.figures.axes import positions
from runner.report.ratio import Ratio, ratios
from runner.report.table import parameters, records
from runner.report.text import count, listed, one_line, value_of

MOST_PANELS, MOST_LINES = 12, 24

Row = dict[str, Any]
Case = tuple[Row, Ratio]


@dataclass(frozen=True)
class SpeedupPoint:
    """The cases of a kernel and a size: the size as written, and each case with its ratio."""

    size: str
    cases: tuple[Case, ...]

    @property
    def times(self) -> float:
        """The geometric mean of the ratios."""
        return math.exp(sum(math.log(ratio.times) for _, ratio in self.cases) / len(self.cases))

    @property
    def low(self) -> float:
        """The lower end of the range that holds the intervals of all cases."""
        return min(ratio.low for _, ratio in self.cases)

    @property
    def high(self) -> float:
        """Its upper end."""
        return max(ratio.high for _, ratio in self.cases)


@dataclass(frozen=True)
class SpeedupPanel:
    """A kernel, what it is called in the figure, its baseline, and a point a size."""

    kernel: str
    title: str
    baseline: str
    points: tuple[SpeedupPoint, ...]


@dataclass(frozen=True)
class SpeedupPlot:
    """One figure.

    Attributes:
        stem: the file's name without its ending.
        title: what is shown.
        notes: what a reader must know to read it right.
        sizes: where each stands on the x axis; empty where there is one, and kernels stand below one another.
        panels: a kernel each.
        parameters: the parameters of the run, which tell its cases apart.
    """

    stem: str
    title: str
    notes: str
    sizes: dict[str, float]
    panels: tuple[SpeedupPanel, ...]
    parameters: tuple[str, ...]

    @property
    def place(self) -> Literal["baseline"]:
        """The part of the page that it belongs to."""
        return "baseline"

    @property
    def emulated(self) -> bool:
        """No: the CPU device's times are compared with no baseline."""
        return False

    @property
    def reading(self) -> str:
        """The figure in words, for those who cannot see it."""
        told = [
            f"{panel.title} against {panel.baseline}: "
            + ", ".join(f"{point.times:.2f}x{f' at {point.size}' if point.size else ''}" for point in panel.points)
            for panel in self.panels
        ]
        return f"{'; '.join(told)}. {self.notes}"


def speedup_plots(frame: pd.DataFrame) -> list[SpeedupPlot]:
    """The figure of a run whose kernels, or one of them at several sizes, have ratios."""
    rows = {row["row"]: row for row in records(frame)}
    cases = [(rows[number], ratio) for number, ratio in ratios(frame).items()]
    sized = [(row, ratio) for row, ratio in cases if value_of("size", row)]
    places = positions([row for row, _ in sized], "size")
    several = len(places) > 1
    panels = _by_kernel(sized if several else cases, rows)
    if not several and len(panels) < 2:
        return []
    drawn = list(panels.items())[: MOST_PANELS if several else MOST_LINES]
    more = [title for (title, _), _ in list(panels.items())[len(drawn) :]]
    at = f" at {next(iter(places))}" if len(places) == 1 and len(sized) == len(cases) else ""
    return [
        SpeedupPlot(
            stem="speedup-by-size" if several else "speedup-by-kernel",
            title=f"Speed-up over the declared baseline{at}",
            notes=_notes([own for _, own in drawn], more, several=several),
            sizes=places if several else {},
            panels=tuple(_panel(title, baseline, own, places) for (title, baseline), own in drawn),
            parameters=tuple(parameters(frame)),
        )
    ]


def _by_kernel(cases: list[Case], rows: dict[int, Row]) -> dict[tuple[str, str], list[Case]]:
    """The cases of each panel, by its title and its baseline's name."""
    dtypes = len({row["dtype"] for row, _ in cases}) > 1
    found: dict[tuple[str, str], list[Case]] = {}
    for row, ratio in cases:
        base = rows[ratio.baseline_row]
        names = [one_line(str(one["kernel"]), 40) for one in (row, base)]
        if row["finish"] != base["finish"]:
            names = [f"{name} (finish {one['finish']})" for name, one in zip(names, (row, base), strict=True)]
        title = f"{names[0]}, {row['dtype']}" if dtypes else names[0]
        found.setdefault((title, names[1]), []).append((row, ratio))
    return found


def _panel(title: str, baseline: str, cases: list[Case], places: dict[str, float]) -> SpeedupPanel:
    by_size: dict[str, list[Case]] = {}
    for row, ratio in cases:
        by_size.setdefault(value_of("size", row), []).append((row, ratio))
    ordered = sorted(by_size, key=lambda size: places.get(size, 0.0))
    points = [SpeedupPoint(size, tuple(by_size[size])) for size in ordered]
    return SpeedupPanel(str(cases[0][0]["kernel"]), title, baseline, tuple(points))


def _notes(drawn: list[list[Case]], more: list[str], *, several: bool) -> str:
    many = max(len(own) / len({value_of("size", row) for row, _ in own}) for own in drawn) > 1
    words = [
        "Time of the baseline over time of the kernel, all else being equal; above 1x the kernel is faster.",
        f"Marker: the geometric mean of the cases{' of a size' if several else ''}; grey: each case." if many else "",
        f"{'Grey' if many else 'Thin'} line: what the 95 % intervals of both times allow.",
        f"{count(sum(map(len, drawn)), 'case')}.",
        f"Not drawn: {listed(more)}; the table has them." if more else "",
    ]
    return " ".join(word for word in words if word)
