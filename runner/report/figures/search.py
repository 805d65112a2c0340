"""The figure of a search: the best so far against cases and seconds, or the Pareto front of two objectives."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from runner.display.text import count
from runner.record.searched import Searched
from runner.report.figures.figure import COLOURS, CRIMSON, INK, PALE, Figure, Results, Row, plain, set_ticks, sheet

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

LEAST = 3  # least measured cases of a figure
NAMED = 8  # cases of a front with a label
WITHIN = 0.8  # fraction of the cases within the scale
STEPS, FINE, WIDE_RANGE = (1.0, 1.5, 2.0, 3.0, 5.0, 7.0), (1, 1.2, 1.4, 1.6, 1.8, 2, 2.5, 3, 4, 5, 6, 7, 8, 9), 20.0


@dataclass(frozen=True)
class BestSoFar(Figure):
    """The cases of a search in order, and the best so far."""

    section = "search"
    search: Searched

    def rows(self) -> list[Row]:
        """One row per case. `best` is NaN before the first case that did not fail."""
        best, rows = np.nan, list[Row]()
        better = np.fmax if self.search.higher[0] else np.fmin
        for case in self.search.told:
            value, anew = case.results[0] if case.results else np.nan, self.search.anew.get(case.point)
            best = float(better(best, value))
            rows.append(
                {"case": case.number, "seconds": case.seconds, self.search.objectives[0]: value, "best": best}
                | ({"anew": anew[0][0], "anew_low": anew[0][1], "anew_high": anew[0][2]} if anew else {})
            )
        return rows

    def draw(self) -> Drawing:
        """Draw the cases as points, the failed ones at the upper edge, and the best so far as a line."""
        search, rows, name = self.search, self.rows(), self.search.objectives[0]
        figure, panels = sheet(self.title, 2, 2, 3.1, sharey=True)
        good = np.array([row[name] for row in rows if np.isfinite(row[name])])
        ends = [end for row in rows if "anew" in row for end in (row["anew_low"], row["anew_high"])]
        best = [row["best"] for row in rows if np.isfinite(row["best"])]
        # Very slow cases are drawn at the edge, so that they do not flatten the line.
        edge = float(np.quantile(good, 1 - WITHIN if search.higher[0] else WITHIN))
        low, high = min(edge, *best, *ends), max(edge, *best, *ends)
        for axes, x, label in zip(panels, ("case", "seconds"), ("cases", "seconds"), strict=True):
            self._panel(axes, rows, x)
            axes.set_xlabel(label)
            axes.xaxis.set_major_formatter(plain)
        limits(panels[0], low, high)
        panels[0].set_ylabel(name)
        bottom, top = panels[0].get_ylim()
        for axes, x in zip(panels, ("case", "seconds"), strict=True):
            edges = [row[x] for row in rows if not bottom <= row[name] <= top and np.isfinite(row[name])]
            if edges:
                axes.plot(edges, [bottom if search.higher[0] else top] * len(edges), "|", color=PALE, clip_on=False,
                          markersize=6, label="case beyond the scale")  # fmt: skip
            if failed := [row[x] for row in rows if not np.isfinite(row[name])]:
                axes.plot(failed, [bottom if search.higher[0] else top] * len(failed), "x", color=CRIMSON,
                          clip_on=False, label="failed")  # fmt: skip
        figure.legend(handles=panels[0].get_legend_handles_labels()[0], loc="outside lower center", ncols=5)
        return figure

    def _panel(self, axes: Axes, rows: Sequence[Row], x: str) -> None:
        name = self.search.objectives[0]
        axes.plot([r[x] for r in rows], [r[name] for r in rows], ".", color=PALE, markersize=4, label="case")
        axes.step([r[x] for r in rows], [r["best"] for r in rows], where="post", color=COLOURS[0], label="best so far")
        if anew := [r for r in rows if "anew" in r]:
            middle = np.array([r["anew"] for r in anew])
            ends = [middle - [r["anew_low"] for r in anew], [r["anew_high"] for r in anew] - middle]
            axes.errorbar([r[x] for r in anew], middle, np.maximum(ends, 0), fmt="D", color=COLOURS[1], markersize=4.5,
                          markerfacecolor="none", linewidth=1, label="measured anew at the end")  # fmt: skip


@dataclass(frozen=True)
class Front(Figure):
    """The cases of a search with two objectives."""

    section = "search"
    search: Searched

    def rows(self) -> list[Row]:
        """One row per case that did not fail, with its last values, and whether it is on the Pareto front."""
        search, rows = self.search, list[Row]()
        found = {
            c.point: tuple(v[0] for v in search.anew.get(c.point, ())) or c.results for c in search.told if c.results
        }
        signs = [-1 if higher else 1 for higher in search.higher]
        best, front = (math.inf, math.inf), set[tuple[float, ...]]()
        for pair in sorted(tuple(s * v for s, v in zip(signs, own, strict=True)) for own in found.values()):
            if pair[1] < best[1] or pair == best:
                best = (pair[0], pair[1])
                front.add(pair)
        for case in search.told:
            if own := found.get(case.point):
                row = {"case": case.number, **dict(zip(search.objectives, own, strict=True))}
                on_front = tuple(s * v for s, v in zip(signs, own, strict=True)) in front
                rows.append({**row, "measured_anew": case.point in search.anew, "on_front": on_front})
        return rows

    def front(self) -> list[Row]:
        """The rows on the front, in the order of the first objective."""
        return sorted(
            (row for row in self.rows() if row["on_front"]), key=lambda r: float(r[self.search.objectives[0]])
        )

    def named(self) -> str:
        """Describe the first cases of the front, by their numbers in the drawing."""
        points = {case.number: case.point for case in self.search.told}
        own = [points[row["case"]] for row in self.front()]
        every = self.search.parameters
        names = [n for place, n in enumerate(every) if len({point[place] for point in own}) > 1] or every
        return "; ".join(f"{n}: {self.search.described(point, names)}" for n, point in enumerate(own[:NAMED], 1))

    def draw(self) -> Drawing:
        """Draw the cases as points, and the front as a line of steps."""
        (first, second), search, rows = self.search.objectives, self.search, self.rows()
        figure, (axes,) = sheet(self.title, 1, 1, 4.2)
        front = self.front()
        axes.plot([r[first] for r in rows], [r[second] for r in rows], ".", color=PALE, markersize=4, label="case")
        axes.step([r[first] for r in front], [r[second] for r in front], "o-", color=COLOURS[0], markersize=5,
                  where="pre" if search.higher[0] else "post", linewidth=1.2, label="Pareto front")  # fmt: skip
        if anew := [row for row in rows if row["measured_anew"]]:
            axes.plot([r[first] for r in anew], [r[second] for r in anew], "D", color=COLOURS[1], markersize=8,
                      markerfacecolor="none", label="measured anew at the end")  # fmt: skip
        for number, row in enumerate(front[:NAMED], 1):
            axes.annotate(str(number), (row[first], row[second]), (5, 4), textcoords="offset points", color=INK)
        for axis, name in ((axes.xaxis, first), (axes.yaxis, second)):
            values = [row[name] for row in rows]
            if min(values) > 0 and max(values) > 3 * min(values):
                (axes.set_xscale if axis is axes.xaxis else axes.set_yscale)("log")
                set_ticks(axis, min(values) * 0.9, max(values) * 1.1)
        axes.set_xlabel(first)
        axes.set_ylabel(second)
        figure.legend(loc="outside lower center", ncols=3)
        return figure


def limits(axes: Axes, low: float, high: float) -> None:
    """Set limits and ticks of the y axis, which is logarithmic if all values are positive."""
    from matplotlib.ticker import FixedLocator  # noqa: PLC0415

    if low <= 0:
        room = 0.04 * (high - low) or 1.0
        axes.set_ylim(low - room, high + room)
        return
    axes.set_yscale("log")
    room = max((high / low) ** 0.04, 1.005)
    low, high = low / room, high * room
    set_ticks(axes.yaxis, low, high)
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)))
    ticks = [m * 10.0**k for k in decades for m in (FINE if high / low < 4 else STEPS)]
    if 1.5 <= high / low < WIDE_RANGE and len(there := [tick for tick in ticks if low <= tick <= high]) > 1:
        axes.yaxis.set_major_locator(FixedLocator(there))
    axes.yaxis.set_major_formatter(plain)
    axes.set_ylim(low, high)


def figures(results: Results) -> list[Figure]:
    """Choose the figure of a search; an empty list for other runs and for a rehearsal."""
    search = results.run.search
    if search is None or search.rehearsal or sum(bool(c.results) for c in search.told) < LEAST:
        return []
    anew = f" Diamonds: {count(len(search.anew), 'case')} measured anew at the end, side by side."
    caption = "Values of the batches, with drift taken out."
    caption += anew * bool(search.anew)
    if len(search.objectives) > 1:
        title = f"{search.objectives[0]} against {search.objectives[1]}"
        front = Front("pareto-front", title, "", search)
        said = f"The line is the Pareto front: no other case is better in both. {caption} {front.named()}."
        return [replace(front, caption=said)]
    return [BestSoFar("best-so-far", f"The best {search.objectives[0]} so far", caption, search)]
