"""The steps of a comparison, from the names of runs to the exit status."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from runner import atomic, runs
from runner.compare import tables, views
from runner.compare.causes import causes
from runner.compare.changes import Comparison, compare
from runner.compare.joining import pooled
from runner.compare.runs import Run, read, united
from runner.compare.verdict import exit_status
from runner.errors import UsageError
from runner.folder import RunFolder
from runner.terminal import Console, SweepProgress

Folders = tuple[Path, ...]
"""One side of a comparison: a run, or several runs of the same sweep."""


def run_command(
    texts: Sequence[str], baseline: str | None, html: Path | None, table: Path | None, *, strict: bool
) -> int:
    """Compare runs, print the result, and write the page and the table.

    Args:
        texts: The runs, as a user names them.
        baseline: The baseline, named likewise; `None`: the first run.
        html: The file of the page; `None`: no page.
        table: The file of the CSV; `None`: no CSV.
        strict: Whether an undecided case counts as a failure.

    Returns:
        The exit status.

    Raises:
        UsageError: if a run cannot be compared, or a file cannot be written.
    """
    files = [path for path in (html, table) if path]
    with SweepProgress() as progress:
        sides = chosen(texts, baseline)
        _refuse_to_replace(files, [path for side in sides for path in side])
        base, *others = united(_read(sides, progress))
        comparisons = [_compared(base, other, progress) for other in others]
        found, differing = tables.entries(comparisons), causes(base, comparisons)
        if table:
            _write(table, tables.written(comparisons, found).encode(errors="surrogateescape"))
        if html:
            progress.stage("drawing", 1)
            os.environ["MPLBACKEND"] = "agg"  # a notebook may name a backend there that matplotlib lacks
            from runner.compare import figure  # noqa: PLC0415 - matplotlib would slow a comparison without a page

            _write(html, views.page(comparisons, found, differing, figure.draw(comparisons)))
    views.show(comparisons, found, differing, files, Console())
    return exit_status(comparisons, strict=strict)


def chosen(texts: Sequence[str], baseline: str | None) -> list[Folders]:
    """The sides that a user means, the baseline first.

    Args:
        texts: Each a run as `runner.runs` knows it, a pattern for several runs, or runs of one side with commas.
        baseline: One side, named likewise; `None`: the first of the texts.

    Raises:
        UsageError: if there is no such run, one is named twice, or there are fewer than two.
    """
    given = [(text, _sides(text)) for text in texts]
    first = [] if baseline is None else _sides(baseline)
    if len(first) > 1:
        raise UsageError(f"--baseline {baseline}: {len(first)} runs match, one is expected")
    found = {_resolved(side): side for side in first}
    named: dict[Path, str] = {}
    for text, sides in given:
        for side in sides:
            again = [path for path in _resolved(side) if path in named]
            if again and len(sides) == 1:
                raise UsageError(f"{text}: the same folder as {named[again[0]]}; a run is not compared with itself")
            named.update(dict.fromkeys(_resolved(side), text))
            found.setdefault(_resolved(side), side)
    words = " ".join([*texts, *([f"--baseline {baseline}"] if baseline is not None else [])])
    if len(found) < 2:
        raise UsageError(f"{words}: this is one run, and at least two are compared")
    _refuse_shared(words, found)
    return list(found.values())


def _sides(text: str) -> list[Folders]:
    if "," not in text or Path(text).exists():
        return [(path,) for path in runs.named(text)]
    parts = [path for part in text.split(",") for path in runs.named(part)]
    if len(set(_resolved(parts))) < len(parts):
        raise UsageError(f"{text}: a folder is named twice; the runs of a side must be different")
    return [tuple(parts)]


def _resolved(side: Iterable[Path]) -> Folders:
    return tuple(path.resolve() for path in side)


def _refuse_shared(words: str, sides: Iterable[Folders]) -> None:
    """Refuse a run that is part of two sides."""
    seen: set[Path] = set()
    for side in sides:
        if both := seen.intersection(side):
            raise UsageError(f"{words}: {both.pop().name} is on two sides; a run is not compared with itself")
        seen.update(side)


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
    """Refuse to overwrite a file of a run, or to write page and table to one file."""
    if len({target.resolve() for target in targets}) < len(targets):
        raise UsageError(f"{targets[0]}: page and table cannot be one file")
    for target in targets:
        own = RunFolder(target.resolve().parent)
        files = (own.results, own.plan, own.environment, own.multirun, own.path / "report.html")
        if target.resolve() in files and own.path in {folder.resolve() for folder in folders}:
            raise UsageError(f"{target}: this file belongs to the run itself; give another name")


def _write(path: Path, content: bytes) -> None:
    try:
        atomic.write(path, content)
    except OSError as error:
        raise UsageError(f"{path}: it cannot be written: {error.strerror or error}") from None
