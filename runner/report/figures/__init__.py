"""The figures of a report, chosen by what varies in the results.

Each module has a function `figures(results)` that chooses figures without drawing them.
To add a figure, write such a module and add its function to `MAKERS`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from runner.files import safe
from runner.record.ranking import Ratio
from runner.record.run import Run
from runner.report.figures import energy, gpus, heat, importance, lanes, raw, roofline, search, speedup, stalls, times
from runner.report.figures.figure import Figure, Results, draw
from runner.report.renderers import Renderers

MAKERS: tuple[Callable[[Results], Sequence[Figure]], ...] = (
    search.figures, importance.figures, times.figures, heat.figures, speedup.figures, energy.figures, lanes.figures,
    roofline.figures, stalls.figures, raw.figures, gpus.figures,
)  # fmt: skip
"""Functions that choose figures, in the order of the page."""

OURS = re.compile(
    r"(best-so-far|pareto-front|mattered|slices|lanes|gpus|statuses|bandwidth-by-|time-by-|heatmap-|speedup-by-|samples-|roofline-|stalls|energy).*"
    r"\.(svg|png|csv)"
)
"""The file names of the report's figures, also of earlier versions. The report removes no other files."""


def choose(run: Run, ratios: Mapping[int, Ratio]) -> list[Figure]:
    """Choose the figures of a run, each with a unique stem; `ratios` are the speed-ups of its cases by row number."""
    results, seen, chosen = Results(run, ratios), Counter[str](), list[Figure]()
    for figure in (figure for make in MAKERS for figure in make(results)):
        seen[figure.stem] += 1
        chosen.append(replace(figure, stem=f"{figure.stem}-{n}") if (n := seen[figure.stem]) > 1 else figure)
    return chosen


def begin_drawing(chosen: Sequence[Figure], renderers: Renderers | None) -> Callable[[], list[Figure]]:
    """Begin to draw figures, in other processes if there are any. Returns a function that waits for the drawn ones."""
    charts = {figure.stem: (figure.title, figure.as_chart()) for figure in chosen if renderers}
    charts = {stem: chart for stem, chart in charts.items() if chart[1].panels}  # others draw themselves
    pictures = renderers.begin(list(charts.values())) if renderers and charts else list

    def drawn() -> list[Figure]:
        by_stem = dict(zip(charts, pictures(), strict=False))  # drawn here if the processes failed
        return [draw(figure, by_stem.get(figure.stem)) for figure in chosen]

    return drawn


def write(run: Path, figures: Sequence[Figure]) -> None:
    """Write the files of a run's figures, and remove the figures of an earlier report that are not among them."""
    folder = run / "figures"
    files = {f"{figure.stem}.{ending}": content for figure in figures for ending, content in figure.files.items()}
    for name, content in files.items():
        safe.write(run, folder / name, content)
    for name in safe.names(run, folder):
        if OURS.fullmatch(name) and name not in files:
            safe.remove(run, folder / name)
