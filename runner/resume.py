"""`python -m runner.resume outputs/X`: run what an interrupted sweep lacks, and nothing else."""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from collections.abc import Sequence
from pathlib import Path


def main(arguments: Sequence[str] | None = None) -> int:
    """Resume a sweep; the exit status is that of its rows, or 2 if it cannot be resumed."""
    parser = ArgumentParser(prog="python -m runner.resume", description="Run what an interrupted sweep lacks.")
    parser.add_argument("folder", help="a sweep's folder, such as outputs/DATE/TIME-WHAT, or `latest`")
    given = parser.parse_args(arguments)
    from runner.cli import run_command  # noqa: PLC0415

    return run_command(lambda: _resumed(given.folder))


def _resumed(name: str) -> int:
    from runner import recorded, runs  # noqa: PLC0415
    from runner.cli import run_sweep  # noqa: PLC0415
    from runner.session import Session  # noqa: PLC0415

    session = Session()
    path = Path(name) if Path(name).is_dir() else runs.one(name)
    return run_sweep(session, lambda: recorded.resume(path, session))


if __name__ == "__main__":
    sys.exit(main())
