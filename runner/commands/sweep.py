"""`python -m runner`: compose a sweep from the command line, and run it."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from runner import __version__
from runner.cli import importing, options
from runner.compose.names import CONF, help_text
from runner.sweep.session import Session, start_worker


def main(arguments: Sequence[str]) -> int:
    """Run a sweep; returns the exit status of its rows."""
    chosen, rest = options(arguments)
    if "--version" in rest:
        sys.stdout.write(f"runner {__version__}\n")
        return 0
    if rest in (["--help"], ["-h"]):
        sys.stdout.write(help_text([CONF]))
        return 0
    session = Session(options=chosen, worker=None if chosen.dry_run else start_worker(rest))
    try:
        with importing():  # the worker starts before anything that is slow to import
            from runner.commands.run_sweep import run_sweep  # noqa: PLC0415
            from runner.compose import app  # noqa: PLC0415
        return run_sweep(session, lambda: app.run(rest, session))
    finally:
        if worker := session.take_worker():  # interrupted before `run_sweep`
            worker.kill()
