"""Which figures a run gets, in the order in which a reader wants them. Pure: no drawing here."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd

from runner.report.figures.heat_map import HeatPlot, heat_plots
from runner.report.figures.lanes.choice import LanePlot, lane_plots
from runner.report.figures.plots import Plot
from runner.report.figures.raw import RawPlot
from runner.report.figures.speedup import SpeedupPlot, speedup_plots
from runner.report.figures.status_grid import GridPlot, grid_plots
from runner.report.figures.time_plots import time_plots

Drawable = Plot | HeatPlot | SpeedupPlot | GridPlot | LanePlot | RawPlot


def choose(frame: pd.DataFrame) -> list[Drawable]:
    """The figures that the table alone gives, most telling first; `raw.wide_cases` has those of samples."""
    others: list[GridPlot | LanePlot] = [*grid_plots(frame), *lane_plots(frame)]
    plots: list[Drawable] = [
        *time_plots(frame, others=bool(others)), *heat_plots(frame), *speedup_plots(frame), *others,
    ]  # fmt: skip
    taken: dict[str, int] = {}
    for number, plot in enumerate(plots):
        taken[plot.stem] = taken.get(plot.stem, 0) + 1
        if taken[plot.stem] > 1:
            plots[number] = replace(plot, stem=f"{plot.stem}-{taken[plot.stem]}")
    return plots
