"""`python -m runner.report outputs/X`: figures, page and summary again, from the folder alone, on any machine."""

from __future__ import annotations

import csv
import sys
from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from runner.cli import Parser, run_command, say

if TYPE_CHECKING:
    from runner.folder import RunFolder


def main(arguments: list[str] | None = None) -> int:
    """Rebuild the report of a run folder; 2 if it is not one."""
    parser = Parser("report", "Rebuild the report of a run folder.")
    parser.add_argument("folder", help="a run's folder, such as outputs/DATE/TIME-WHAT, or `latest`")
    parser.add_argument(
        "--to", type=Path, metavar="FILE", help="write only the page, to FILE, without links to the folder"
    )
    parser.add_argument(
        "--format", choices=["html", "md"], default="html", help="md: print a summary for a pull request"
    )
    parser.add_argument(
        "--live", action="store_true", help="serve a page on this machine that updates while a sweep runs"
    )
    parser.add_argument("--port", type=int, default=0, help="port of --live (default: a free one)")
    given = parser.parse_args(arguments)
    return run_command(lambda: _report(given))


def _report(given: Namespace) -> int:
    from runner import runs  # noqa: PLC0415  (see `run_command`)
    from runner.folder import RunFolder  # noqa: PLC0415
    from runner.report import as_markdown, publish, publish_alone  # noqa: PLC0415
    from runner.terminal import Console  # noqa: PLC0415

    name = given.folder
    folder = Path(name) if Path(name).is_dir() else runs.one(name)
    with runs.reading(name):
        if given.live:
            return _serve(folder, given.port)
        if given.format == "md":
            sys.stdout.write(as_markdown(folder))
            return 0
        _bring_up_to_date(RunFolder(folder))
        if given.to:
            publish_alone(folder, given.to)
        else:
            publish(folder, Console())
    return 0


def _serve(folder: Path, port: int) -> int:
    from runner.report.live import HOST, server  # noqa: PLC0415

    with server(folder, port) as serving:
        say(f"http://{HOST}:{serving.server_port}/ shows {folder} while the sweep runs; stop with Ctrl-C", 0)
        serving.serve_forever()
    return 0


def _bring_up_to_date(folder: RunFolder) -> None:
    """Rebuild the table from the jobs' rows: the table of a killed sweep may lag behind.

    A table with rows of jobs whose folders are gone stays: the folder was passed on without them.
    """
    from runner.shards.folder import merge  # noqa: PLC0415
    from runner.sweep import results  # noqa: PLC0415

    merge(folder)
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
