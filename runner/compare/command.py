"""The work of `runner compare`: read the runs, compare them, and write what the options ask for."""

from __future__ import annotations

import itertools
import os
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path

from runner.compare import causes, changes, runs, views
from runner.display.terminal import Console, SweepProgress
from runner.errors import UsageError
from runner.files import atomic
from runner.record.folder import RunFolder
from runner.record.runs import reading


def compare(options: Namespace) -> int:
    """Compare runs, print the result, and write the page and the table. Returns the exit status."""

    def step(name: str) -> None:
        progress.show_step(name)
        progress.step()

    files = [path for path in (options.html, options.csv) if path]
    with reading(", ".join(options.runs)):
        with SweepProgress() as progress:
            sides = runs.resolve_sides(options.runs, options.baseline)
            paths = [path for side in sides for path in side]
            _refuse_to_replace(files, paths)
            progress.stage("reading", len(paths))
            parts = []
            for run in runs.read(paths):
                parts.append(run)
                step(run.name)
            remaining = iter(parts)
            base, *others = runs.united([runs.pooled([next(remaining) for _ in side]) for side in sides])
            comparisons = []
            for other in others:
                progress.stage("comparing", len(base.rows))
                comparisons.append(changes.compare(base, other, step))
            entries, differences = views.entries(comparisons), causes.causes(base, comparisons)
            if options.csv:
                _write(options.csv, views.as_csv(comparisons, entries))
            if options.html:
                progress.stage("drawing", 1)
                os.environ["MPLBACKEND"] = "agg"  # a notebook's own backend may not be installed
                from runner.compare import figure  # noqa: PLC0415 - matplotlib would slow a comparison without a page

                _write(options.html, views.page(comparisons, entries, differences, figure.draw(comparisons)))
        views.show(comparisons, entries, differences, files, Console())
        return views.exit_status(comparisons, strict=options.strict)


def _refuse_to_replace(targets: Sequence[Path], folders: Sequence[Path]) -> None:
    """Refuse to overwrite a run's files, or to write page and table to the same file."""
    if len({target.resolve() for target in targets}) < len(targets):
        raise UsageError(f"{targets[0]}: the page and the table cannot be the same file")
    for target, folder in itertools.product(targets, folders):
        RunFolder(folder).refuse_to_replace(target)


def _write(path: Path, content: bytes) -> None:
    try:
        atomic.write(path, content)
    except OSError as error:
        raise UsageError(f"{path}: cannot be written: {error.strerror or error}") from None
