"""`python -m runner list`: list the run folders, newest first, with their cases, failures and best case."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from runner.cli import Parser, run_function

RUNS = 20  # shown by default


def main(arguments: Sequence[str] | None = None) -> int:
    """List runs; returns the exit status."""
    parser = Parser("list", "List the run folders, newest first.")
    words = "where to look (default: outputs), and words that a case of a run must match: kernel=K device=cuda failed"
    parser.add_argument("words", nargs="*", metavar="FOLDER|WORD", help=words)
    parser.add_argument("-n", type=_number, default=RUNS, metavar="N", help=f"how many to show; default: {RUNS}")
    parsed = parser.parse_args(arguments)
    return run_function("runner.commands.overview:print_matching", parsed.words, parsed.n)


def _number(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and int(text)):
        raise argparse.ArgumentTypeError(f"{text}: expected a whole number of runs, at least 1")
    return int(text)


if __name__ == "__main__":
    sys.exit(main())
