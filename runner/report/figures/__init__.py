"""The figures of a report: chosen by what varies, then drawn. Nothing in here writes a file.

Each figure has a module that chooses what it holds (pure, no drawing) and one that draws it, its picture:

    frame ──choose──▶ time_plots, heat_map, speedup, status_grid, raw ──drawing──▶ ..._picture ──saving──▶ svg, png, csv
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from runner.report.figures.figure import Drawn
from runner.report.ratio import Ratio


def draw_all(path: Path, frame: pd.DataFrame, ratios: dict[int, Ratio]) -> list[Drawn]:
    """Draw the figures of a run; none shows an emulated time."""
    from runner.report.figures.choose import choose  # noqa: PLC0415
    from runner.report.figures.drawing import draw  # noqa: PLC0415
    from runner.report.figures.raw import wide_cases  # noqa: PLC0415
    from runner.report.figures.style import strokes  # noqa: PLC0415

    looks = strokes([str(kernel) for kernel in frame["kernel"].unique()])
    plots: list[Any] = [*choose(frame), *wide_cases(path, frame)]
    pictures = [draw(plot, looks, ratios) for plot in plots if not plot.emulated and plot.place != "problems"]
    return [Drawn(p.plot.place, p.plot.stem, p.plot.title, f"{p.plot.title}.", p.svg, p) for p in pictures]


def write(folder: Path, figures: Sequence[Drawn]) -> None:
    """Write the files of the figures, and remove those of an earlier report."""
    from runner.report.figures.drawing import write_pictures  # noqa: PLC0415

    write_pictures(folder, [one.picture for one in figures])
