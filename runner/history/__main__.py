"""`runner history`: one page with a line for each case over many runs, and what made it faster or slower."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from runner.cli import Parser, run_function

WORDS = (
    "a folder, a pattern such as 'outputs/2026-11-*/*', or words that a case must match: size=2^24 device=cuda failed"
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Draw the history of the runs that the arguments name. Returns the exit status."""
    parser = Parser("history", "Draw each case over many runs, with the steps that are real. Default: all of outputs.")
    parser.add_argument("words", nargs="*", metavar="FOLDER|WORD", help=WORDS)
    parser.add_argument("--to", type=Path, metavar="FILE", help="where to write the page; default: FOLDER/index.html")
    return run_function("runner.history.command:history", parser.parse_args(arguments))


if __name__ == "__main__":
    sys.exit(main())
