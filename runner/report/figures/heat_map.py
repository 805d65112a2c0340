"""Heat maps: how much a pair of parameters matters to each kernel, in percent of its best. Pure: no drawing here.

With the size across, the best is that of each column: against one best of all, the sizes would drown everything else.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

import pandas as pd

from runner.report.figures.heat_axes import by_kernel, evenly, largest, pair, values
from runner.report.figures.heat_cells import HeatPanel, Row, cells, varies
from runner.report.table import parameters, records, timed
from runner.report.text import EMULATED, count, listed, size_of, slug, value_of

MOST_PANELS, NAMED = 9, 8
APART = ("kernel", "dtype", "seed", "device")
"""Parameters that are no axis: each kernel and dtype has its panel, each device its figure."""


@dataclass(frozen=True)
class HeatPlot:
    """One figure.

    Attributes:
        stem: the file's name without its ending.
        title: what is shown.
        notes: what a reader must know to read it right.
        down: the parameter whose values stand below one another.
        across: the parameter whose values stand beside one another.
        lines: the values down.
        columns: the values across.
        panels: a kernel each.
        parameters: the parameters of the run, which tell its cases apart.
        emulated: whether the times are those of the CPU device.
    """

    stem: str
    title: str
    notes: str
    down: str
    across: str
    lines: tuple[str, ...]
    columns: tuple[str, ...]
    panels: tuple[HeatPanel, ...]
    parameters: tuple[str, ...]
    emulated: bool

    @property
    def place(self) -> Literal["shape"]:
        """The part of the page that it belongs to."""
        return "shape"

    @property
    def reading(self) -> str:
        """The figure in words, for those who cannot see it."""
        told = [f"{panel.title}: {min(panel.percents):.0f} to 100 percent" for panel in self.panels]
        return f"{'; '.join(told)}. {self.notes}"


def heat_plots(frame: pd.DataFrame) -> list[HeatPlot]:
    """The heat map of each device whose cases vary in two ways."""
    devices = [str(device) for device in timed(frame)["device"].unique()]
    found = []
    for device in devices:
        rows = records(frame[(frame["device"] == device) | (frame["device"] == "")])
        suffix = f"-{slug(device)}" if len(devices) > 1 else ""
        if (plot := _plot(rows, parameters(frame), device, suffix)) is not None:
            found.append(plot)
    return found


def _plot(rows: list[Row], names: list[str], device: str, suffix: str) -> HeatPlot | None:
    free = [name for name in names if name not in APART]
    axes = pair(by_kernel(rows), free)
    if axes is None:
        return None
    down, across = axes
    sizes = {size_of(row) for row in rows}
    shown = largest(rows) if "size" not in axes and len(sizes) > 1 else rows
    shown = [row for row in shown if value_of(down, row) and value_of(across, row)]
    lines, columns = evenly(values(shown, down)), evenly(values(shown, across))
    panels = [HeatPanel(title, cells(own, axes, lines, columns)) for title, own in by_kernel(shown).items()]
    telling = [panel for panel in panels if varies(panel)]
    # Those in which the choice matters most, in the order of the results.
    chosen = sorted(telling, key=lambda panel: min(panel.percents))[:MOST_PANELS]
    kept = tuple(panel for panel in telling if panel in chosen)
    if not kept:
        return None
    at = f" at {sizes.pop()}" if len(sizes) == 1 and "size" not in axes and "" not in sizes else ""
    notes = [
        f"{EMULATED[0].upper()}{EMULATED[1:]}." if device == "cpu" else "",
        _explained(axes, one_size=len(sizes) < 2),
        _taken(shown, [name for name in free if name not in (*axes, "size")]),
        *(_thinned(shown, name, drawn) for name, drawn in ((down, lines), (across, columns))),
        *_left_out(by_kernel(rows), telling, kept, axes),
        f"{count(len(shown), 'case')}.",
    ]
    return HeatPlot(
        stem=f"heatmap-{slug(down)}-by-{slug(across)}{suffix}",
        title=f"{'Emulated speed' if device == 'cpu' else 'Speed'} by {down} and {across}{at}, in percent of the best",
        notes=" ".join(note for note in notes if note),
        down=down,
        across=across,
        lines=tuple(lines),
        columns=tuple(columns),
        panels=kept,
        parameters=tuple(names),
        emulated=device == "cpu",
    )


def _explained(axes: tuple[str, str], *, one_size: bool) -> str:
    alike = " at the same size" if "size" in axes else "" if one_size else " at its largest size"
    return f"Number and colour: percent of the speed of the kernel's fastest case{alike}, which is bold in a frame."


def _thinned(rows: list[Row], name: str, drawn: list[str]) -> str:
    there = len(values(rows, name))
    return f"Drawn: {len(drawn)} of {there} values of {name}." if there > len(drawn) else ""


def _taken(rows: list[Row], names: list[str]) -> str:
    """What else varies within a cell, of which it shows the fastest."""
    rest = [name for name in names if any(len(values(own, name)) > 1 for own in by_kernel(rows).values())]
    return f"Each cell: the fastest {listed(rest)}." if rest else ""


def _left_out(
    everyone: Iterable[str], telling: list[HeatPanel], kept: tuple[HeatPanel, ...], axes: tuple[str, str]
) -> list[str]:
    few = [title for title in everyone if title not in [panel.title for panel in telling]]
    more = [panel.title for panel in telling if panel not in kept]
    return [
        f"Left out, as {listed(list(axes))} do not both vary enough: {_named(few)}." if few else "",
        f"Left out, as the choice matters less there: {_named(more)}." if more else "",
    ]


def _named(titles: list[str]) -> str:
    further = [f"{len(titles) - NAMED} more"] if len(titles) > NAMED else []
    return listed([*titles[:NAMED], *further])
