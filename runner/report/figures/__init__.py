"""The figures of a report, chosen by what varies in the results.

Each module of a figure has a function `figures(run)` that chooses (pure, without drawing) and a class that draws.
To add a figure, write one such module and add it to `MAKERS`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pandas as pd

from runner import door
from runner.report.figures import heat, lanes, raw, speedup, times
from runner.report.figures.figure import Drawn, Figure, Run, drawn
from runner.report.findings import Ratio

MAKERS: tuple[Callable[[Run], Sequence[Figure]], ...] = (
    times.figures,
    heat.figures,
    speedup.figures,
    lanes.figures,
    raw.figures,
)
"""What makes figures, in the order in which a reader wants them."""

OURS = re.compile(r"(lanes|statuses|bandwidth-by-|time-by-|heatmap-|speedup-by-|samples-).*\.(svg|png|csv)")
"""The names of the report's figures, also of earlier versions. Nothing else in the folder is the report's to remove."""


def choose(path: Path, frame: pd.DataFrame, ratios: Mapping[int, Ratio]) -> list[Figure]:
    """The figures of a run, without drawing them."""
    run = Run(path, frame, ratios)
    return [figure for make in MAKERS for figure in make(run)]


def draw_all(path: Path, frame: pd.DataFrame, ratios: Mapping[int, Ratio]) -> list[Drawn]:
    """Draw all figures of a run, each under a stem of its own."""
    seen: Counter[str] = Counter()
    found = []
    for figure in choose(path, frame, ratios):
        seen[figure.stem] += 1
        found.append(drawn(figure, figure.stem + (f"-{seen[figure.stem]}" if seen[figure.stem] > 1 else "")))
    return found


def outlined(path: Path, frame: pd.DataFrame, ratios: Mapping[int, Ratio]) -> list[Drawn]:
    """The figures of a run without their files, which take long to draw."""
    return [Drawn(one.section, one.stem, one.title, one.caption, {}, one.view) for one in choose(path, frame, ratios)]


def write(run: Path, figures: Sequence[Drawn]) -> None:
    """Write the files of a run's figures, and remove those of an earlier report that are no longer made."""
    folder = run / "figures"
    files = {f"{one.stem}.{ending}": content for one in figures for ending, content in one.files.items()}
    for name, content in files.items():
        door.write(run, folder / name, content)
    for name in door.names(run, folder):
        if OURS.fullmatch(name) and name not in files:
            door.remove(run, folder / name)
