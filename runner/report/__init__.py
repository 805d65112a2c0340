"""The report of a run folder: figures, one self-contained page, and a summary for the terminal.

    results.csv, plan.json ─record.frame─▶ frame ─findings─▶ rankings, ratios, verdict
    run, samples/ ─figures─▶ figures/*.svg, *.png, *.csv
    findings ─tables─▶ tables
    findings, tables, figures, environment.json, sources/ ─page─▶ report.html
    findings ─terminal─▶ console
    charts ─renderers─▶ processes that draw them, if `prepare` started them

Door: the functions of this module, which import pandas late, as it is slow; `verdict.write` for verdict.json.
Takes: a run folder, as `runner.record.run` reads it. Gives: files in that folder, or text.
What may not cross: everything is made from the folder alone, without a device, a configuration or the time of day. The
same results give the same bytes.
"""

# ruff: noqa: PLC0415
from __future__ import annotations

import gc
import os
import threading
from collections.abc import Iterable, Mapping
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from runner import interruption
from runner.report.renderers import Renderers

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from rich.console import Console

    from runner.record.run import Run
    from runner.report.findings import Verdict

__all__ = ["as_markdown", "build", "draw_lanes", "plot", "prepare", "print_summary", "publish", "publish_alone"]

SLOW = ("pandas", "runner.report.terminal", "runner.report.verdict", "runner.report.page")
"""The modules of a report that are slow to import."""
SLOW_FOR_TIMES = ("scipy.special",)


def build(folder: Path) -> Path:
    """Write the figures and `report.html` of a run folder, and return the page's path."""
    return _write_page(*_read(folder))


def print_summary(folder: Path, console: Console) -> None:
    """Print the times, the verdict and the failures of a run."""
    from runner.report import terminal

    terminal.print_summary(*_read(folder), console)


def prepare(*, times: bool, figures: bool = False) -> Renderers | None:
    """Import what a report needs, in a thread, while a sweep runs; returns at once.

    Args:
        times: Whether there will be times of a GPU, whose statistics need further modules.
        figures: Whether there will be figures.

    Returns:
        With `figures`, processes that draw figures, for `publish`. They end with this process.
    """

    def work() -> None:
        for name in (*SLOW, *(SLOW_FOR_TIMES if times else ())):
            if interruption.heard():
                return
            with suppress(ImportError):  # the module that needs it reports the error
                import_module(name)
        with suppress(ImportError):
            from runner.report.page import template

            import_module("pandas").Series(["text"])  # triggers further imports
            template("page.html", "runner.report")
        gc.freeze()  # modules stay: Python need not search them for cycles while it makes the report

    threading.Thread(target=work, name="imports of the report").start()
    with suppress(OSError):  # too many processes: this one draws
        return Renderers() if figures else None
    return None


def publish(folder: Path, console: Console, *, brief: bool = False, renderers: Renderers | None = None) -> None:
    """Print the summary, then write verdict.json and the report, so that the verdict does not wait for the figures.

    With `brief`, print the verdict and the report's path only, and the reasons if no case ran. `renderers` are those of
    `prepare`.
    """
    from runner.display.console import say_path
    from runner.display.terminal import SweepProgress
    from runner.report import terminal
    from runner.report.verdict import write

    run, verdict = _read(folder)
    if brief:
        terminal.print_brief(run, verdict, console)
    else:
        terminal.print_summary(run, verdict, console)
    write(run)
    with SweepProgress(quiet=brief) as progress:
        progress.stage("writing the report", 1)
        page = _write_page(run, verdict, renderers=renderers)
    say_path(console, "Report: ", page)


def publish_alone(folder: Path, to: Path) -> None:
    """Write the page of a run to the file `to`, without links to the folder."""
    _write_page(*_read(folder), to)


def as_markdown(folder: Path) -> str:
    """Format the summary of a run as Markdown, for a pull request."""
    from runner.report import terminal

    return terminal.as_markdown(*_read(folder))


def plot(folder: Path) -> Figure:
    """Draw the ranked chart of the report's first screen with matplotlib; a notebook displays the figure.

    Raises:
        UsageError: The run has no two comparable cases, or none whose memory work was counted.
    """
    from runner.errors import UsageError
    from runner.record.run import read
    from runner.report import answers
    from runner.report.figures import ranked

    run = read(folder)
    chart = answers.first_screen(run).chart
    if chart is None:
        timed = run.frame["median_us"].notna().any()
        without = "lines=all counts the memory work of cases on the CPU device"
        raise UsageError(f"{folder}: nothing to draw: fewer than two comparable cases{'' if timed else f'; {without}'}")
    return ranked.draw(chart)


def draw_lanes(rows: Iterable[Mapping[str, Any]], title: str = "") -> bytes:
    """Draw the lane picture of some rows as SVG, one step per row.

    Args:
        rows: Rows with columns of results.csv, as text or typed: `kernel`, `shuffle`, `received`, `block`; `width`,
            `mask`, `per_thread`, `first` and `second` if the kernel reads them; `device` for the default title. Rows
            without `shuffle` or `received` are ignored.
        title: The picture's title; empty for the default.

    Raises:
        ValueError: No row can be drawn.
    """
    from runner.report.figures.lanes import stacked

    return stacked(rows, title)


def _read(folder: Path) -> tuple[Run, Verdict]:
    from runner.record.run import read
    from runner.report.findings import judge

    run = read(folder)
    return run, judge(run)


def _write_page(run: Run, verdict: Verdict, to: Path | None = None, renderers: Renderers | None = None) -> Path:
    os.environ["MPLBACKEND"] = "agg"  # a notebook's own backend may not be installed
    from runner.report.page import write

    return write(run, verdict, to, renderers)
