"""The report of a run folder: figures, one self-contained page, and a summary for the terminal.

    results.csv, plan.json ─table─▶ frame ─verdict, ratio─▶ words ─cells─▶ tables
    frame, samples/ ─figures─▶ figures/*.svg, *.png, *.csv
    tables, words, figures, environment.json, sources/ ─page─▶ report.html
    words ─terminal─▶ console

Everything is made from the folder alone: no device, no configuration, no clock. The same results give the same bytes.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["build", "draw_lanes", "print_summary"]


def build(folder: Path) -> Path:
    """Write the figures and `report.html` of a run folder, and return the page's path."""
    os.environ["MPLBACKEND"] = "agg"  # notebooks name a backend there that matplotlib may not have
    from runner.report.page import write  # noqa: PLC0415 - matplotlib would slow the runner's start

    return write(folder)


def print_summary(folder: Path, console: Console) -> None:
    """Print what a run found: values and times, the verdict, the failures, and the path of the report."""
    from runner.report.terminal import print_summary as show  # noqa: PLC0415 - pandas would slow the runner's start

    show(folder, console)


def draw_lanes(rows: Iterable[Mapping[str, Any]], title: str = "") -> bytes:
    """A lane picture of some rows as SVG, one step per row, without a run folder; see `figures.lanes.picture`."""
    os.environ["MPLBACKEND"] = "agg"
    from runner.report.figures.lanes.picture import svg  # noqa: PLC0415 - matplotlib would slow the runner's start

    return svg(rows, title)
