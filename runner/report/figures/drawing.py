"""The chosen figures as files. Explicit Figure objects, no pyplot: nothing here outlives the call."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from matplotlib.figure import Figure

from runner import atomic
from runner.report.figures import heat_picture, raw_picture, speedup_picture, status_picture, time_picture
from runner.report.figures.choose import Drawable
from runner.report.figures.compact import compact
from runner.report.figures.data import as_csv, data
from runner.report.figures.heat_map import HeatPlot
from runner.report.figures.lanes import picture as lane_picture
from runner.report.figures.lanes.choice import LanePlot
from runner.report.figures.raw import RawPlot
from runner.report.figures.saving import saved
from runner.report.figures.speedup import SpeedupPlot
from runner.report.figures.status_grid import GridPlot
from runner.report.figures.style import Stroke
from runner.report.ratio import Ratio

OURS = re.compile(r"(lanes|statuses|bandwidth-by-|time-by-|heatmap-|speedup-by-|samples-).*\.(svg|png|csv)")
"""How the report names its figures; anything else in the folder is not the report's to remove."""


@dataclass(frozen=True)
class Picture:
    """A drawn figure, and the table of what it shows."""

    plot: Drawable
    svg: bytes
    png: bytes
    csv: bytes


def draw(plot: Drawable, strokes: dict[str, Stroke], ratios: dict[int, Ratio]) -> Picture:
    """Draw a figure in both formats; the same plot gives the same bytes."""
    svg, png = saved(lambda: _figure(plot, strokes, ratios))
    return Picture(plot, compact(svg), png, as_csv(data(plot, ratios)))


def write_pictures(folder: Path, pictures: list[Picture]) -> None:
    """Write the figures of a run, and remove those of an earlier report that are no longer made."""
    written = set()
    for picture in pictures:
        for ending, content in (("svg", picture.svg), ("png", picture.png), ("csv", picture.csv)):
            name = f"{picture.plot.stem}.{ending}"
            atomic.write(folder / name, content)
            written.add(name)
    if folder.is_dir():
        for path in folder.iterdir():
            if OURS.fullmatch(path.name) and path.name not in written:
                path.unlink(missing_ok=True)


def _figure(plot: Drawable, strokes: dict[str, Stroke], ratios: dict[int, Ratio]) -> Figure:
    match plot:
        case LanePlot():
            return lane_picture.draw(plot)
        case GridPlot():
            return status_picture.draw(plot)
        case HeatPlot():
            return heat_picture.draw(plot)
        case SpeedupPlot():
            return speedup_picture.draw(plot, strokes)
        case RawPlot():
            return raw_picture.draw(plot)
        case _:
            return time_picture.draw(plot, strokes, ratios)
