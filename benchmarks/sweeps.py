"""Whole sweeps of our program, each in its own process, and the small tables that benchmarks write."""

from __future__ import annotations

import csv
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

ROOT = Path(__file__).resolve().parents[1]


def stop(message: str) -> NoReturn:
    """End with one sentence."""
    print(message, file=sys.stderr)
    raise SystemExit(2)


def called(command: Sequence[str], folder: str, status: int | None = 0, **environment: str) -> str:
    """What a command prints that runs in a folder with the checkout's own runner.

    Another exit status is the end; with `None`, one but 0 and 1 is: a sweep has a case that is not right.
    """
    paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    own = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), **environment}
    done = subprocess.run(command, env=own, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode not in ((0, 1) if status is None else (status,)):
        stop(f"{' '.join(command)} ended with {done.returncode}: {reason(done.stderr)}")
    return done.stdout


@contextmanager
def swept(*arguments: str, status: int | None = 0) -> Iterator[Path]:
    """The folder of a sweep with these arguments, until the block is left."""
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder) / "run"
        called([sys.executable, "-m", "runner", *arguments, f"hydra.sweep.dir={run}"], folder, status)
        yield run


def reason(stderr: str) -> str:
    """The last line that means something: neither an empty line nor Hydra's hint."""
    lines = [line.strip() for line in stderr.splitlines()]
    return next((line for line in reversed(lines) if line and "HYDRA_FULL_ERROR" not in line), "it did not say why")


def write_table(path: Path | None, head: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Write a CSV, if a path was given."""
    if path:
        with path.open("w", newline="", encoding="utf-8") as stream:
            table = csv.writer(stream, lineterminator="\n")
            table.writerow(head)
            table.writerows(rows)
