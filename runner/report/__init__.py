"""The report of a run folder: figures, one self-contained page, and a summary for the terminal.

    results.csv, plan.json ─table─▶ frame ─findings─▶ rankings, ratios, verdict
    frame, samples/ ─figures─▶ figures/*.svg, *.png, *.csv
    findings ─cells─▶ tables
    findings, tables, figures, environment.json, sources/ ─page─▶ report.html
    findings ─terminal─▶ console

Everything is made from the folder alone: no device, no configuration, no clock. The same results give the same bytes.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["build", "draw_lanes", "print_summary", "publish"]


def build(folder: Path) -> Path:
    """Write the figures and `report.html` of a run folder, and return the page's path."""
    os.environ["MPLBACKEND"] = "agg"  # notebooks name a backend of theirs there, which matplotlib may not have
    from runner.report.page import write as build_page  # noqa: PLC0415 - matplotlib would slow the runner's start

    return build_page(folder)


def print_summary(folder: Path, console: Console) -> None:
    """Print what a run found: the times, the verdict, and the failures."""
    from runner.report.terminal import print_summary as show  # noqa: PLC0415 - pandas would slow the runner's start

    show(folder, console)


def publish(folder: Path, console: Console) -> None:
    """Print what a run found, then write verdict.json and the report: the verdict does not wait for the figures."""
    print_summary(folder, console)
    from runner.report.verdict import write  # noqa: PLC0415

    write(folder)
    page = build(folder)
    console.print(f"Report: {page}", markup=False, highlight=False, soft_wrap=True)


def draw_lanes(rows: Iterable[Mapping[str, Any]], title: str = "") -> bytes:
    """The lane picture of some rows as SVG, one step for each row; see `figures.lanes.stacked`."""
    os.environ["MPLBACKEND"] = "agg"
    from runner.report.figures.lanes import stacked  # noqa: PLC0415 - matplotlib would slow the runner's start

    return stacked(rows, title)
