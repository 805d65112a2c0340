"""`runner check FOLDER` reads all YAMLs of a folder and says what is wrong. It compiles, imports and runs nothing."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from runner.cli import Parser, run_function


def main(arguments: Sequence[str] | None = None) -> int:
    """Check the files of a folder; returns the exit status."""
    parser = Parser(
        "check", "Read all kernels, experiments and settings of a folder, and say what is wrong. Runs nothing."
    )
    parser.add_argument("folder", help="the folder with kernel/NAME.yaml, as for --config-dir")
    return run_function("runner.commands.check_folder:check", parser.parse_args(arguments).folder)


if __name__ == "__main__":
    sys.exit(main())
