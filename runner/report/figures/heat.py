"""Heat maps: how much a pair of parameters matters to each kernel, in percent of its best.

The pair is block and size where both vary within a kernel, else the two that vary most and have an order. With the size
across, the best is that of each column: against one best of all, the sizes would hide everything else.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap, to_rgb
from matplotlib.figure import Figure as Drawing
from matplotlib.patches import Rectangle

from runner.report.figures.axes import WIDE, positions, sheet, whole
from runner.report.figures.figure import Figure, Row, Run, of_case
from runner.report.figures.style import INK
from runner.report.table import records
from runner.report.text import absent, count, listed, one_line, size_of, slug, value_of
from runner.report.verdict import IDLE

MOST_PANELS, MOST_VALUES, NAMED = 9, 12, 8
APART = ("kernel", "dtype", "seed", "device")
"""Parameters that are no axis."""

LEAST = 50
"""Percent that have the darkest colour, as have all below."""

COLOURS = ListedColormap([mpl.colormaps["cividis"](0.12 + 0.088 * step) for step in range(11)])
"""Cividis is even to the eye, also to a colour-blind one, and on paper without colours."""

Place = tuple[str, str]
"""The values of a cell, down and across."""


@dataclass(frozen=True)
class Panel:
    """A kernel.

    Attributes:
        title: Its name.
        rows: The fastest case of each cell, or the first that failed.
        percents: The best time over that of each cell that has one.
    """

    title: str
    rows: dict[Place, Row]
    percents: dict[Place, float]

    @property
    def worst(self) -> float:
        """The percentage of the slowest cell."""
        return min(self.percents.values())

    @property
    def telling(self) -> bool:
        """Whether there is something to see: two values down and across, six cells, and few holes."""
        down, across = ({place[axis] for place in self.rows} for axis in (0, 1))
        least = max(6, len(down) * len(across) / 2)
        return min(len(down), len(across), len(self.percents)) > 1 and len(self.rows) >= least


@dataclass(frozen=True)
class HeatMap(Figure):
    """A panel for each kernel, with a number in every cell and a frame around the best.

    Attributes:
        axes: The parameters down and across.
        lines: The values down.
        columns: The values across.
    """

    section = "shape"
    axes: tuple[str, str]
    lines: list[str]
    columns: list[str]
    panels: list[Panel]
    run: Run

    def rows(self) -> list[Row]:
        """A row for each cell."""
        return [
            {
                "panel": panel.title,
                **of_case(row, self.run),
                "status": row["status"],
                "percent_of_best": panel.percents.get(place),
                **({name: row[name] for name in ("median_us", "gbps")} if place in panel.percents else {}),
            }
            for panel in self.panels
            for place, row in sorted(panel.rows.items(), key=lambda cell: self._at(cell[0]))
        ]

    def draw(self) -> Drawing:
        """Draw the panels, at least two side by side."""
        words = any(panel.rows.keys() - panel.percents.keys() for panel in self.panels)
        wide = max((0.52 if words else 0.36) * len(self.columns), *(0.09 * len(panel.title) for panel in self.panels))
        beside = max(2, min(4, int((WIDE - 0.6) / (wide + 0.2))))
        height = 0.25 * len(self.lines) + 0.55
        figure, every = sheet(self.title, len(self.panels), beside, height, sharex=True, sharey=True)
        for number, (axes, panel) in enumerate(zip(every, self.panels, strict=True)):
            axes.set_title(panel.title, fontsize=9)
            axes.set_xticks(np.arange(len(self.columns)) + 0.5, [one_line(name, 14) for name in self.columns])
            axes.set_yticks(np.arange(len(self.lines)) + 0.5, [one_line(name, 14) for name in self.lines])
            axes.tick_params(labelsize=8, length=0)
            axes.grid(visible=False)
            axes.spines[:].set_visible(False)
            axes.set_xlabel(one_line(self.axes[1], 20) if number + beside >= len(self.panels) else "")
            axes.set_ylabel(one_line(self.axes[0], 20) if number % beside == 0 else "")
            self._cells(axes, panel)
        every[0].invert_yaxis()
        return figure

    def _at(self, place: Place) -> tuple[int, int]:
        return self.lines.index(place[0]), self.columns.index(place[1])

    def _cells(self, axes: Axes, panel: Panel) -> None:
        values = np.full((len(self.lines), len(self.columns)), np.nan)
        for place, row in panel.rows.items():
            y, x = self._at(place)
            text: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": 8, "in_layout": False}
            if place not in panel.percents:
                words = "no time" if row["status"] == "ok" else str(row["status"]).replace("_", "\n", 1)
                hatched: dict[str, Any] = {"facecolor": "#f4f4f6", "edgecolor": "#cfcfd6", "hatch": "////"}
                axes.add_patch(Rectangle((x, y), 1, 1, linewidth=0, **hatched))
                axes.text(x + 0.5, y + 0.5, words, **text | {"fontsize": 6.5})
                continue
            values[y, x] = percent = panel.percents[place]
            if percent == 100:
                axes.add_patch(Rectangle((x + 0.04, y + 0.06), 0.92, 0.88, fill=False, edgecolor=INK, linewidth=1.3))
                text["fontweight"] = "bold"
            axes.text(x + 0.5, y + 0.5, str(round(percent)), color=ink(percent), **text)
        shown = np.ma.masked_invalid(values)
        axes.pcolormesh(shown, cmap=COLOURS, vmin=LEAST, vmax=100, edgecolor="white", linewidth=0.8, zorder=0)


def ink(percent: float) -> str:
    """The colour of letters with the greater contrast on a cell's colour, by the luminance of WCAG 2."""
    parts = to_rgb(COLOURS((percent - LEAST) / (100 - LEAST)))
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return "#000000" if np.dot(linear, (0.2126, 0.7152, 0.0722)) > 0.179 else "#ffffff"


def figures(run: Run) -> list[HeatMap]:
    """The heat map of a run whose cases vary in two ways."""
    rows = records(run.measured)
    free = [name for name in run.names if name not in APART]
    axes = _pair(_by_kernel(rows).values(), free)
    if axes is None:
        return []
    sizes = {size_of(row) for row in rows}
    shown = _largest(rows) if "size" not in axes and len(sizes) > 1 else rows
    shown = [row for row in shown if all(value_of(name, row) for name in axes)]
    every = [_values(shown, name) for name in axes]
    lines, columns = (_evenly(values) for values in every)
    panels = [_panel(title, own, axes, (lines, columns)) for title, own in _by_kernel(shown).items()]
    telling = [panel for panel in panels if panel.telling]
    chosen = sorted(telling, key=lambda panel: panel.worst)[:MOST_PANELS]  # those in which the choice matters most
    if not chosen:
        return []
    few = _by_kernel(rows).keys() - {panel.title for panel in telling}
    more = {panel.title for panel in telling if panel not in chosen}
    same = " at the same size" if "size" in axes else " at its largest size" if len(sizes) > 1 else ""
    inside = [name for name in free if name not in (*axes, "size")]
    inside = [name for name in inside if any(len(_values(own, name)) > 1 for own in _by_kernel(shown).values())]
    notes = [
        f"Number and colour: percent of the speed of the kernel's fastest case{same}, which is bold in a frame.",
        f"Each cell: the fastest {listed(inside)}." if inside else "",
        *(
            f"Drawn: {MOST_VALUES} of {len(values)} values of {name}."
            for name, values in zip(axes, every, strict=True)
            if len(values) > MOST_VALUES
        ),
        f"Left out, as {listed(list(axes))} do not both vary enough: {_some(rows, few)}." if few else "",
        f"Left out, as the choice matters less there: {_some(rows, more)}." if more else "",
        f"{count(len(shown), 'case')}.",
    ]
    at = f" at {min(sizes)}" if len(sizes) == 1 and "size" not in axes and "" not in sizes else ""
    return [
        HeatMap(
            stem=f"heatmap-{slug(axes[0])}-by-{slug(axes[1])}",
            title=f"Speed by {axes[0]} and {axes[1]}{at}, in percent of the best",
            caption=" ".join(note for note in notes if note),
            axes=axes,
            lines=lines,
            columns=columns,
            panels=[panel for panel in telling if panel in chosen],
            run=run,
        )
    ]


def _by_kernel(rows: list[Row]) -> dict[str, list[Row]]:
    """The cases of each panel by its title: those of a kernel, and of a dtype and a device where there are several."""
    several = [name for name in ("dtype", "device") if len({row[name] for row in rows} - {""}) > 1]
    found: dict[str, list[Row]] = {}
    for row in rows:
        told = [one_line(str(row["kernel"]), 40), *(str(row[name]) for name in several if row[name])]
        found.setdefault(", ".join(told), []).append(row)
    return found


def _pair(kernels: Iterable[list[Row]], names: list[str]) -> tuple[str, str] | None:
    """The parameters down and across. The size goes across, else the one with more values."""
    most, found = 0, None
    for rows in kernels:
        counts = {name: len(_values(rows, name)) for name in names if _ordered(rows, name)}
        several = sorted((name for name in counts if counts[name] > 1), key=lambda name: -counts[name])
        if "block" in several and "size" in several:
            return "block", "size"
        if len(several) > 1 and counts[several[0]] * counts[several[1]] > most:
            most, found = counts[several[0]] * counts[several[1]], (several[1], several[0])
    return (found[1], found[0]) if found and found[0] == "size" else found


def _ordered(rows: list[Row], name: str) -> bool:
    """Whether the values have an order: numbers do, words do not."""
    return name in ("size", "block") or all(whole(value) is not None for value in _values(rows, name))


def _values(rows: list[Row], name: str) -> list[str]:
    """The values of a parameter in their order."""
    places = positions([row for row in rows if value_of(name, row)], name)
    return sorted(places, key=lambda value: places[value])


def _largest(rows: list[Row]) -> list[Row]:
    """The cases of each kernel's largest size that has a right one."""
    sized = [row for row in rows if not absent(row["size"])]
    right = sorted((row for row in sized if row["status"] == "ok"), key=lambda row: int(row["size"]))
    last = {row["kernel"]: row["size"] for row in right}
    return [row for row in sized if row["size"] == last.get(row["kernel"])]


def _evenly(found: list[str]) -> list[str]:
    """As many values as a panel takes, the first and the last among them."""
    if len(found) <= MOST_VALUES:
        return found
    return [found[round(n * (len(found) - 1) / (MOST_VALUES - 1))] for n in range(MOST_VALUES)]


def _panel(title: str, rows: list[Row], axes: tuple[str, str], drawn: tuple[list[str], list[str]]) -> Panel:
    """The cells of a kernel at the drawn values."""

    def rank(row: Row) -> tuple[bool, float]:
        return (False, row["median_us"]) if _has_time(row) else (True, row["status"] in IDLE)

    chosen: dict[Place, Row] = {}
    for row in sorted(rows, key=rank):
        chosen.setdefault((value_of(axes[0], row), value_of(axes[1], row)), row)
    times = {place: float(row["median_us"]) for place, row in chosen.items() if _has_time(row)}
    best: dict[str, float] = {}
    for (_, across), time in times.items():
        group = across if axes[1] == "size" else ""
        best[group] = min(time, best.get(group, time))
    percents = {(d, a): 100 * (best[a if axes[1] == "size" else ""] / time) for (d, a), time in times.items()}
    shown = [place for place in chosen if place[0] in drawn[0] and place[1] in drawn[1]]
    return Panel(
        title,
        {place: chosen[place] for place in shown},
        {place: percents[place] for place in shown if place in percents},
    )


def _has_time(row: Row) -> bool:
    return row["status"] == "ok" and not absent(row["median_us"]) and row["median_us"] > 0


def _some(rows: list[Row], titles: Iterable[str]) -> str:
    """The titles of panels in the order of the results, the first of them where they are many."""
    ordered = [title for title in _by_kernel(rows) if title in titles]
    return listed([*ordered[:NAMED], *([f"{len(ordered) - NAMED} more"] if len(ordered) > NAMED else [])])
