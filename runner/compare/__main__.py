"""`python -m runner.compare outputs/A outputs/B`: what became of A's cases in B, and what may be the cause.

Exit status: 0 nothing is worse, 1 a case is slower or broken, 2 the input cannot be used, 3 with --strict where a case
is undecided.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from runner.cli import run_command


def main(arguments: list[str] | None = None) -> int:
    """Compare the runs that the arguments name."""
    given = _parser().parse_args(arguments)
    return run_command(lambda: _compare(given))


def _compare(given: argparse.Namespace) -> int:
    from runner import runs  # noqa: PLC0415  (see `run_command`)
    from runner.compare import command  # noqa: PLC0415

    with runs.reading(", ".join(given.runs)):
        return command.run_command(given.runs, given.baseline, given.html, given.csv, strict=given.strict)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m runner.compare", description="Compare runs with a baseline.")
    named = "a run folder, a pattern, latest, latest~1, ...; A,B: two runs of the same code; the first is the baseline"
    parser.add_argument("runs", nargs="+", metavar="RUN", help=named)
    parser.add_argument("--baseline", metavar="RUN", help="the run that the others are compared with")
    parser.add_argument("--html", type=Path, metavar="FILE", help="write a page")
    parser.add_argument("--csv", type=Path, metavar="FILE", help="write a table")
    parser.add_argument("--strict", action="store_true", help="exit with 3 if a case is undecided")
    return parser


if __name__ == "__main__":
    sys.exit(main())
