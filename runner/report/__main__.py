"""`python -m runner.report outputs/X`: figures, page and summary again, from the folder alone, on any machine."""

from __future__ import annotations

import argparse
import csv
import sys
from pathlib import Path

from runner import runs
from runner.console import Console
from runner.errors import UsageError
from runner.folder import RunFolder
from runner.report import build, print_summary
from runner.sweep import results


def main(arguments: list[str] | None = None) -> int:
    """Rebuild the report of a run folder; 2 where the folder is none."""
    parser = argparse.ArgumentParser(prog="python -m runner.report", description="Rebuild the report of a run folder.")
    parser.add_argument("folder", help="a run's folder, such as outputs/DATE/TIME-WHAT, or `latest`")
    given = parser.parse_args(arguments)
    try:
        folder = Path(given.folder) if Path(given.folder).is_dir() else runs.one(given.folder)
        _bring_up_to_date(RunFolder(folder))
        build(folder)
        print_summary(folder, Console())
    except UsageError as mistake:
        sys.stderr.write(f"runner: {mistake}\n")
        return 2
    except OSError as error:
        sys.stderr.write(f"runner: {given.folder}: the report cannot be written ({error.strerror or error}).\n")
        return 2
    except runs.MALFORMED as error:
        sys.stderr.write(f"runner: {given.folder}: a file in it is none that the runner writes ({error!r}).\n")
        return 2
    except KeyboardInterrupt:
        return 130
    return 0


def _bring_up_to_date(folder: RunFolder) -> None:
    """Rebuild the table from the jobs' rows: of a sweep that was killed it may lag behind.

    A table with rows of jobs whose folders are gone, as in a folder that was passed on without them, stays.
    """
    if not folder.path.is_dir():
        return
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
