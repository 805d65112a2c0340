"""Find runs by a folder, a pattern or `latest`, and by what a case of them must match."""

from __future__ import annotations

import sys
from itertools import takewhile
from pathlib import Path

from runner.api.run import Run
from runner.display.terminal import Console, SweepProgress
from runner.errors import UsageError
from runner.history.words import matching_runs
from runner.record import runs


def open_run(name: str | Path) -> Run:
    """Open a run by its folder, `latest`, or `latest~1` for the one before it. Raises UsageError if there is none."""
    if not isinstance(name, str | Path):
        raise UsageError(f"open: expected a folder or a name such as 'latest', not {type(name).__name__}")
    return Run(runs.find_one(str(name)))


def find_runs(pattern: str | Path, *words: str) -> list[Run]:
    """The runs below a folder or that a pattern matches, newest first, as `runner list` has them.

    Args:
        pattern: A folder, a pattern such as `outputs/2026-11-*/*`, or a name as for `open_run`.
        *words: What a case of a run must match: `kernel=reduceShfl`, `size>1Mi`, `failed`.

    Raises:
        UsageError: There is no such folder, no run matches the pattern, or a word asks for an unknown column.
    """
    if not isinstance(pattern, str | Path) or not all(isinstance(word, str) for word in words):
        kinds = ", ".join(type(each).__name__ for each in (pattern, *words))
        raise UsageError(f"runs({kinds}): expected a folder or a pattern, and words as text")
    text = str(pattern)
    root = Path(text)
    if root == runs.OUTPUTS or (root.is_dir() and not runs.is_run(root)):
        found = runs.below(root)  # none below `outputs` is no mistake: nothing was run yet
    else:
        wanted = set(runs.find(text))
        root = Path(*takewhile(lambda part: not any(letter in part for letter in "*?["), root.parts))
        root = root if len(wanted) > 1 else next(iter(wanted)).parent
        found = [path for path in runs.below(root) if path in wanted]
    if words and found:
        # Jupyter forces colours, but shows no bar.
        console = Console(stderr=True, force_terminal=sys.stderr.isatty(), force_jupyter=False)
        with SweepProgress(console) as progress:
            matching, mistakes = matching_runs(root, words, progress)
            for sentence in mistakes:
                progress.warn(f"skipped an unreadable run: {sentence}")
        found = [path for path in found if path in set(matching)]
    return [Run(path) for path in found]
