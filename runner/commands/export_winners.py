"""Write the winners of a run as a header, JSON or CSV: the work of `runner export --format header|json|csv`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from runner.display.text import plain
from runner.importer import t4_format
from runner.record import runs
from runner.record.run import read
from runner.winners import header, listing
from runner.winners.winner import Winner, winners


def export_header(name: str, path: Path | None) -> None:
    """Export a C header. Raises UsageError as `_export`."""
    _export(name, path, header.text)


def export_json(name: str, path: Path | None) -> None:
    """Export JSON. Raises UsageError as `_export`."""
    _export(name, path, listing.as_json)


def export_csv(name: str, path: Path | None) -> None:
    """Export CSV. Raises UsageError as `_export`."""
    _export(name, path, lambda found, _: listing.as_csv(found))


def _export(name: str, path: Path | None, form: Callable[[Sequence[Winner], str], str]) -> None:
    """Write the winners of the run `name` to a new file, or to stdout.

    Raises UsageError if the run or the file is unusable, or no case was timed on a GPU.
    """
    folder = runs.find_one(name)
    with runs.reading(name):
        text = form(winners(read(folder)), folder.name)
    if path is None:
        sys.stdout.write(text)
    else:
        t4_format.write(path, text)
        sys.stderr.write(plain(f"Written: {path}") + "\n")
