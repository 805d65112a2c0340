"""The order of the stations of a comparison, from the names of runs to its exit status."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from runner import atomic
from runner.compare.causes import causes
from runner.compare.changes import Comparison, compare
from runner.compare.choosing import Folders, chosen
from runner.compare.entries import entries, written
from runner.compare.loading import Run, read, united
from runner.compare.pooling import pooled
from runner.compare.terminal import show
from runner.compare.verdict import exit_status
from runner.console import Console
from runner.errors import UsageError
from runner.folder import RunFolder
from runner.progress import SweepProgress


def run_command(
    texts: Sequence[str], baseline: str | None, html: Path | None, table: Path | None, *, strict: bool
) -> int:
    """Compare runs, print what was found, write the page and the table that were asked for.

    Args:
        texts: The runs, as a user names them.
        baseline: Likewise the baseline; `None`: the first run.
        html: Where the page is written, if at all.
        table: Where the CSV is written, if at all.
        strict: Whether a case that was not decided upon counts.

    Returns:
        The exit status.

    Raises:
        UsageError: if a run cannot be compared, or a file not be written.
    """
    with SweepProgress() as progress:
        sides = chosen(texts, baseline)
        _refuse_to_replace([path for path in (html, table) if path], [path for side in sides for path in side])
        base, *others = united(_read(sides, progress))
        comparisons = [_compared(base, other, progress) for other in others]
        found, told = entries(comparisons), causes(base, comparisons)
        if table:
            _write(table, written(comparisons, found).encode(errors="surrogateescape"))
        if html:
            progress.stage("drawing", 1)
            os.environ["MPLBACKEND"] = "agg"  # notebooks name a backend of theirs there, which matplotlib may not have
            from runner.compare import figure, page  # noqa: PLC0415 - matplotlib would slow a comparison without a page

            _write(html, page.render(comparisons, found, told, figure.draw(comparisons)))
    show(comparisons, found, told, [path for path in (html, table) if path], Console())
    return exit_status(comparisons, strict=strict)


def _read(sides: Sequence[Folders], progress: SweepProgress) -> list[Run]:
    paths = [path for side in sides for path in side]
    progress.stage("reading", len(paths))
    found = []
    for run in read(paths):
        found.append(run)
        progress.now(run.name)
        progress.step()
    left = iter(found)
    return [pooled([next(left) for _ in side]) for side in sides]


def _compared(base: Run, other: Run, progress: SweepProgress) -> Comparison:
    def step() -> None:
        progress.now(other.name)
        progress.step()

    progress.stage("comparing", len(base.rows))
    return compare(base, other, step)


def _refuse_to_replace(targets: Sequence[Path], folders: Sequence[Path]) -> None:
    """Refuse to write over what a run's folder holds, or both files at one place."""
    if len({target.resolve() for target in targets}) < len(targets):
        raise UsageError(f"{targets[0]}: page and table cannot be one file")
    for target in targets:
        own = RunFolder(target.resolve().parent)
        files = (own.results, own.plan, own.environment, own.multirun, own.path / "report.html")
        if target.resolve() in files and own.path in {folder.resolve() for folder in folders}:
            raise UsageError(
                f"{target}: this is a file of the run itself, which is not written over; give another name"
            )


def _write(path: Path, content: bytes) -> None:
    try:
        atomic.write(path, content)
    except OSError as error:
        raise UsageError(f"{path}: it cannot be written: {error.strerror or error}") from None
