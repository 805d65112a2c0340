"""`python -m runner.list`: list the run folders, newest first, with their cases, failures and best case."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from runner.cli import Parser, run_function
from runner.record import runs

RUNS = 20  # shown by default


def main(arguments: Sequence[str] | None = None) -> int:
    """List runs; returns the exit status."""
    parser = Parser("list", "List the run folders, newest first.")
    parser.add_argument("folder", nargs="?", type=Path, default=runs.OUTPUTS, help="where to look; default: outputs")
    parser.add_argument("-n", type=_number, default=RUNS, metavar="N", help=f"how many to show; default: {RUNS}")
    parsed = parser.parse_args(arguments)
    return run_function("runner.commands.overview:print_runs", parsed.folder, parsed.n)


def _number(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and int(text)):
        raise argparse.ArgumentTypeError(f"{text}: expected a whole number of runs, at least 1")
    return int(text)


if __name__ == "__main__":
    sys.exit(main())
