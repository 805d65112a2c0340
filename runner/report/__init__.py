"""The report of a run folder: figures, one self-contained page, and a summary for the terminal.

    results.csv, plan.json ─record.frame─▶ frame ─findings─▶ rankings, ratios, verdict
    run, samples/ ─figures─▶ figures/*.svg, *.png, *.csv
    findings ─tables─▶ tables
    findings, tables, figures, environment.json, sources/ ─page─▶ report.html
    findings ─terminal─▶ console

Door: the functions of this module; `verdict.write` for verdict.json.
Takes: a run folder, as `runner.record.run` reads it. Gives: files in that folder, or text.
What may not cross: everything is made from the folder alone, without a device, a configuration or the time of day. The
same results give the same bytes.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console

    from runner.record.run import Run
    from runner.report.findings import Verdict

__all__ = ["as_markdown", "build", "draw_lanes", "print_summary", "publish", "publish_alone"]


def build(folder: Path) -> Path:
    """Write the figures and `report.html` of a run folder.

    Returns:
        The page's path.

    Raises:
        UsageError: The folder's results cannot be read.
    """
    return _page(*_read(folder))


def print_summary(folder: Path, console: Console) -> None:
    """Print the times, the verdict and the failures of a run."""
    from runner.report.terminal import print_summary as show  # noqa: PLC0415 - pandas would slow the runner's start

    show(*_read(folder), console)


def publish(folder: Path, console: Console, *, brief: bool = False) -> None:
    """Print the summary, then write verdict.json and the report, so that the verdict does not wait for the figures.

    Args:
        folder: The run folder.
        console: Where to print.
        brief: Print only the verdict and the report's path.
    """
    from runner.display.console import say_path  # noqa: PLC0415
    from runner.display.terminal import SweepProgress  # noqa: PLC0415
    from runner.report.terminal import print_summary as show  # noqa: PLC0415
    from runner.report.terminal import print_verdict  # noqa: PLC0415
    from runner.report.verdict import write  # noqa: PLC0415

    run, verdict = _read(folder)
    if brief:
        print_verdict(verdict, console)
    else:
        show(run, verdict, console)
    write(run)
    with SweepProgress(quiet=brief) as progress:
        progress.stage("writing the report", 1)
        page = _page(run, verdict)
    say_path(console, "Report: ", page)


def publish_alone(folder: Path, to: Path) -> None:
    """Write the page of a run to the file `to`, without links to the folder."""
    _page(*_read(folder), to)


def as_markdown(folder: Path) -> str:
    """Format the summary of a run as Markdown, for a pull request."""
    from runner.report.terminal import as_markdown as summary  # noqa: PLC0415

    return summary(folder)


def _read(folder: Path) -> tuple[Run, Verdict]:
    """Read a run, and judge it."""
    from runner.record.run import read  # noqa: PLC0415
    from runner.report.findings import judge  # noqa: PLC0415

    run = read(folder)
    return run, judge(run)


def _page(run: Run, verdict: Verdict, to: Path | None = None) -> Path:
    os.environ["MPLBACKEND"] = "agg"  # a notebook's own backend may not be installed
    from runner.report.page import write  # noqa: PLC0415 - pandas would slow the runner's start

    return write(run, verdict, to)


def draw_lanes(rows: Iterable[Mapping[str, Any]], title: str = "") -> bytes:
    """Draw the lane picture of some rows as SVG, one step per row.

    Args:
        rows: Rows of results.csv, as text or typed; see `figures.lanes.stacked`.
        title: The picture's title; empty for the default.

    Raises:
        ValueError: No row can be drawn.
    """
    from runner.report.figures.lanes import stacked  # noqa: PLC0415 - pandas would slow the runner's start

    return stacked(rows, title)
