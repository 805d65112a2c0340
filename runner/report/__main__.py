"""`python -m runner report outputs/X`: rebuild figures, page and summary from the folder alone, on any machine.

With --live, it serves a page that updates while a sweep runs.
"""

from __future__ import annotations

from pathlib import Path

from runner.cli import Parser, run_function


def main(arguments: list[str] | None = None) -> int:
    """Rebuild the report of a run folder. Returns the exit status."""
    parser = Parser("report", "Rebuild the report of a run folder.")
    parser.add_argument("folder", help="a run's folder, such as outputs/DATE/TIME-WHAT, or `latest`")
    alone, md = "write only the page, to FILE, without links to the folder", "md: print a summary for a pull request"
    live = "serve a page on this machine that updates while a sweep runs"
    parser.add_argument("--to", type=Path, metavar="FILE", help=alone)
    parser.add_argument("--format", choices=["html", "md"], default="html", help=md)
    parser.add_argument("--live", action="store_true", help=live)
    parser.add_argument("--port", type=int, default=0, help="port of --live (default: a free one)")
    options = parser.parse_args(arguments)
    return run_function("runner.report.command:report", options)


if __name__ == "__main__":
    raise SystemExit(main())
