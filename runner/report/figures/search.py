"""How a search went: the best so far, against the cases that it measured and against the seconds that it took."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from runner.folder import RunFolder
from runner.report.figures.figure import COLOURS, PALE, Figure, Row, Run, plain, set_ticks, sheet
from runner.report.text import count

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

LEAST = 3  # measured cases that are worth a figure


@dataclass(frozen=True)
class BestSoFar(Figure):
    """The cases of a search in order. The best is the smallest value, or the largest if `higher`."""

    section = "search"
    objective: str
    higher: bool
    cases: tuple[tuple[int, float, float], ...]  # number from 1, seconds since the start, value; without failed ones

    def rows(self) -> list[Row]:
        """A row for each case."""
        best = self._best()
        return [
            {"case": number, "seconds": seconds, self.objective: value, "best": found}
            for (number, seconds, value), found in zip(self.cases, best, strict=True)
        ]

    def _best(self) -> list[float]:
        values = [value for _, _, value in self.cases]
        return list((np.maximum if self.higher else np.minimum).accumulate(values))

    def draw(self) -> Drawing:
        """Draw all cases as points, and the best so far as a line."""
        figure, panels = sheet(self.title, 2, 2, 3.0, sharey=True)
        values = [value for _, _, value in self.cases]
        for axes, place, label in zip(panels, (0, 1), ("cases", "seconds"), strict=True):
            x = [case[place] for case in self.cases]
            axes.plot(x, values, ".", color=PALE, markersize=3)
            axes.step(x, self._best(), where="post", color=COLOURS[0])
            axes.set_xlabel(label)
            axes.xaxis.set_major_formatter(plain)
        low, high = min(values), max(values)
        if low > 0:
            panels[0].set_yscale("log")
            set_ticks(panels[0].yaxis, low * 0.95, high * 1.05)
            panels[0].set_ylim(low * 0.95, high * 1.05)  # of both panels
        panels[0].set_ylabel(self.objective)
        return figure


def figures(run: Run) -> list[BestSoFar]:
    """One for each objective; none if the run is no search."""
    folder = RunFolder(run.path)
    known = folder.json(folder.search)
    if not isinstance(known, dict) or not folder.has(folder.told):
        return []
    told = [_trial(line) for line in folder.text(folder.told).splitlines()]
    found = []
    for place, name in enumerate(map(str, known.get("objectives") or ())):
        measured = [(n, s, v[place]) for n, (s, v) in enumerate(told, 1) if len(v) > place and math.isfinite(v[place])]
        if len(measured) < LEAST:
            continue
        higher = all(value < 0 for _, _, value in measured)  # what should be large is told as its negative
        cases = tuple((n, s, -v if higher else v) for n, s, v in measured)
        failed = len(told) - len(measured)
        legal = known.get("legal")
        share = f" of {legal:,} legal combinations" if isinstance(legal, int) else ""
        caption = [
            f"{count(len(told), 'case')}{share}; the search ended because {known.get('ended')}.",
            "Points: cases; line: the best so far.",
            "Times of the batches, with drift taken out; the table has the best cases as they were measured anew.",
            f"{count(failed, 'case')} failed." if failed else "",
        ]
        title = f"The best {name} so far"
        found.append(BestSoFar("best-so-far", title, " ".join(filter(None, caption)), name, higher, cases))
    return found


def _trial(line: str) -> tuple[float, list[float]]:
    """Seconds and values of a line of search.jsonl; no values if the case failed, or the line is malformed."""
    try:
        content: Any = json.loads(line)
        return float(content["seconds"]), [float(value) for value in content["values"] or ()]
    except (ValueError, TypeError, KeyError):
        return 0.0, []
