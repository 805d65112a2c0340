"""`python -m runner.export --format FORMAT FOLDER`: write a run as T4, or its winners as a C header, JSON or CSV."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from runner.cli import Parser, run_function

FORMATS = {
    "t4": "runner.commands.t4_export:export",
    "header": "runner.commands.export_winners:export_header",
    "json": "runner.commands.export_winners:export_json",
    "csv": "runner.commands.export_winners:export_csv",
}
"""The formats, and the functions that write them."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Export a run; returns the exit status."""
    parser = Parser("export", "Write a run's results in a format that other tools read.")
    parser.add_argument("folder", help="a run's folder, such as outputs/DATE/TIME-WHAT, or `latest`")
    formats = (
        "t4: all results, as Kernel Tuner and other tuners write them; header: a C header with the macros of the "
        "fastest case for each GPU and size; json, csv: the same as a list or a table"
    )
    parser.add_argument("--format", choices=tuple(FORMATS), default="t4", help=formats)
    parser.add_argument(
        "--to", type=Path, metavar="FILE", help="a new file, compressed if it ends in .gz; default: stdout"
    )
    parsed = parser.parse_args(arguments)
    return run_function(FORMATS[parsed.format], parsed.folder, parsed.to)


if __name__ == "__main__":
    sys.exit(main())
