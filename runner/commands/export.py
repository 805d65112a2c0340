"""`python -m runner export --format FORMAT FOLDER`: write a run as T4, or its winners as a C header, JSON or CSV."""

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

ENDINGS = {".json": "t4", ".h": "header", ".hpp": "header", ".cuh": "header", ".csv": "csv"}
"""The formats of files whose names end so, without .gz."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Export a run; returns the exit status."""
    parser = Parser("export", "Write a run's results in a format that other tools read.")
    parser.add_argument("folder", help="a run's folder, such as outputs/DATE/TIME-WHAT, or `latest`")
    formats = (
        "t4: all results, as Kernel Tuner and other tuners write them; header: a C header with the macros of the "
        "fastest case for each GPU and size; json, csv: the same as a list or a table"
    )
    formats += "; by default what the ending of FILE says, and t4 on stdout"
    parser.add_argument("--format", choices=tuple(FORMATS), help=formats)
    parser.add_argument(
        "--to", type=Path, metavar="FILE", help="a new file, compressed if it ends in .gz; default: stdout"
    )
    parsed = parser.parse_args(arguments)
    wanted = parsed.format or _format_of(parsed.to)
    if wanted is None:
        parser.error(f"--to {parsed.to}: expected a file ending in {', '.join(ENDINGS)}, or --format")
    return run_function(FORMATS[wanted], parsed.folder, parsed.to)


def _format_of(path: Path | None) -> str | None:
    """The format that a file's ending says, `t4` for stdout; `None` if no format has this ending."""
    return "t4" if path is None else ENDINGS.get(Path(path.name.removesuffix(".gz")).suffix)


if __name__ == "__main__":
    sys.exit(main())
