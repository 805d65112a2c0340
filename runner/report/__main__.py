"""`python -m runner.report outputs/X`: figures, page and summary again, from the folder alone, on any machine."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import TYPE_CHECKING

from runner.cli import Parser, run_command

if TYPE_CHECKING:
    from runner.folder import RunFolder


def main(arguments: list[str] | None = None) -> int:
    """Rebuild the report of a run folder; 2 if it is not one."""
    parser = Parser("report", "Rebuild the report of a run folder.")
    parser.add_argument("folder", help="a run's folder, such as outputs/DATE/TIME-WHAT, or `latest`")
    given = parser.parse_args(arguments)
    return run_command(lambda: _report(given.folder))


def _report(name: str) -> int:
    from runner import runs  # noqa: PLC0415  (see `run_command`)
    from runner.folder import RunFolder  # noqa: PLC0415
    from runner.report import publish  # noqa: PLC0415
    from runner.terminal import Console  # noqa: PLC0415

    folder = Path(name) if Path(name).is_dir() else runs.one(name)
    with runs.reading(name):
        _bring_up_to_date(RunFolder(folder))
        publish(folder, Console())
    return 0


def _bring_up_to_date(folder: RunFolder) -> None:
    """Rebuild the table from the jobs' rows: the table of a killed sweep may lag behind.

    A table with rows of jobs whose folders are gone stays: the folder was passed on without them.
    """
    from runner.sweep import results  # noqa: PLC0415

    rows = results.collect(folder)
    if rows and _jobs_of_table(folder) <= {str(row["job"]) for row in rows}:
        results.write(folder, rows)


def _jobs_of_table(folder: RunFolder) -> set[str]:
    try:
        with folder.results.open(encoding="utf-8", newline="") as table:
            return {row["job"] for row in csv.DictReader(table) if row["job"]}  # a torn line has none
    except (OSError, KeyError, ValueError, csv.Error):
        return set()


if __name__ == "__main__":
    raise SystemExit(main())
