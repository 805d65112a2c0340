"""`python -m runner resume outputs/X`: run the missing cases of an interrupted sweep."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from runner.cli import Options, Parser, run_function


def main(arguments: Sequence[str] | None = None) -> int:
    """Resume a sweep; returns the exit status of its rows, or 2 if it cannot be resumed."""
    parser = Parser("resume", "Finish an interrupted sweep. This runs the folder's code.")
    parser.add_argument("folder", help="a sweep's folder, such as outputs/DATE/TIME-WHAT, or `latest`")
    parser.add_argument("--quiet", action="store_true", help="print only the result and the report's path")
    rows = "print all rows as JSON lines to stdout, the rest to stderr"
    parser.add_argument("--json", action="store_true", help=rows)
    parsed, rest = parser.parse_known_args(arguments)
    if rest:
        parser.error(f"{rest[0]}: resume takes no overrides; repeat does")
    options = Options(quiet=parsed.quiet, json=parsed.json)
    return run_function("runner.commands.rerun:resume", parsed.folder, options)


if __name__ == "__main__":
    sys.exit(main())
