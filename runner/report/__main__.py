"""`python -m runner.report outputs/X`: figures, page and summary again, from the folder alone, on any machine."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from rich.console import Console

from runner.errors import Mistake
from runner.report import build, print_summary


def main(arguments: list[str] | None = None) -> int:
    """Rebuild the report of a run folder; 2 where the folder is none."""
    parser = argparse.ArgumentParser(prog="python -m runner.report", description="Rebuild the report of a run folder.")
    parser.add_argument("folder", type=Path, help="a run's folder, such as outputs/DATE/TIME-WHAT")
    given = parser.parse_args(arguments)
    try:
        build(given.folder)
        print_summary(given.folder, Console())
    except Mistake as mistake:
        sys.stderr.write(f"{mistake}\n")
        return 2
    except OSError as error:
        sys.stderr.write(f"{given.folder}: the report cannot be written ({error.strerror or error}).\n")
        return 2
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
