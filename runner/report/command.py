"""The work of `runner report`: bring the table of a folder up to date, and write what the options ask for."""

from __future__ import annotations

import csv
import sys
from argparse import Namespace
from pathlib import Path

from runner.cli import say
from runner.display.terminal import Console
from runner.display.text import plain
from runner.errors import UsageError
from runner.files import named_file
from runner.files.limited import TooMuch, read_csv
from runner.record import runs, stored_rows
from runner.record.folder import RunFolder
from runner.record.shards import merge, running
from runner.report import as_markdown, live, publish, publish_alone


def report(options: Namespace) -> int:
    """Write the report; `options` are the parsed arguments. Returns the exit status."""
    name = options.folder
    if options.to and (options.live or options.format == "md"):
        raise UsageError(f"--to {options.to}: writes a page, so leave out --live and --format md")
    if options.live and options.format == "md":
        raise UsageError("--live serves a page: leave out --format md")
    if options.port and not options.live:
        raise UsageError(f"--port {options.port}: only --live has a port")
    folder = Path(name) if Path(name).is_dir() else runs.find_one(name)
    with runs.reading(name):
        if options.live:
            return live.serve(folder, options.port)
        if options.format == "md":
            sys.stdout.write(as_markdown(folder))
            return 0
        if options.to:
            named_file.require(options.to)
            RunFolder(folder).refuse_to_replace(options.to)
        _bring_up_to_date(RunFolder(folder))
        if options.to:
            publish_alone(folder, options.to)
            sys.stdout.write(plain(f"Written: {options.to}") + "\n")
        else:
            publish(folder, Console())
        if running(RunFolder(folder)):
            say(f"{name}: the sweep is still running, so the report is incomplete", 0)
    return 0


def _bring_up_to_date(folder: RunFolder) -> None:
    """Rebuild the table from the jobs' rows, since the table of a killed sweep may be older.

    A table with rows of jobs whose folders are missing stays: the run folder was passed on without them.
    """
    merge(folder)
    rows = stored_rows.collect(folder)
    if rows and _jobs_of_table(folder) <= {str(row["job"]) for row in rows}:
        stored_rows.write(folder, rows)


def _jobs_of_table(folder: RunFolder) -> set[str]:
    try:
        head, *rows = read_csv(folder.read(folder.results))
        column = head.index("job")
        return {row[column] for row in rows if len(row) > column and row[column]}  # a torn line lacks the job
    except TooMuch as e:
        raise UsageError(f"{folder.results}: {e}") from None
    except (OSError, ValueError, csv.Error):
        return set()
