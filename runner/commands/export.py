"""`python -m runner.export --format t4 FOLDER`: write a run as a T4 file, for Kernel Tuner and other tuners."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from runner.cli import Parser, run_function


def main(arguments: Sequence[str] | None = None) -> int:
    """Export a run; returns the exit status."""
    parser = Parser("export", "Write a run's results in a format that other tools read.")
    parser.add_argument("folder", help="a run's folder, such as outputs/DATE/TIME-WHAT, or `latest`")
    formats = "the format; t4: the results format of Kernel Tuner and other tuners"
    parser.add_argument("--format", choices=("t4",), default="t4", help=formats)
    parser.add_argument("--to", type=Path, metavar="FILE", help="FILE.json or FILE.json.gz; default: stdout")
    parsed = parser.parse_args(arguments)
    return run_function("runner.commands.t4_export:export", parsed.folder, parsed.to)


if __name__ == "__main__":
    sys.exit(main())
