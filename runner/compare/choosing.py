"""Which runs are compared: the words of the command line, as the folders of each side."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from runner import runs
from runner.errors import UsageError

Folders = tuple[Path, ...]
"""One side: a run, or several that are one measured several times."""


def chosen(texts: Sequence[str], baseline: str | None) -> list[Folders]:
    """The sides that a user means, the baseline first.

    Args:
        texts: Each a run as `runner.runs` knows it, a pattern for several, or runs with commas between them for one
            side.
        baseline: Likewise, for one side; `None`: the first of the texts.

    Raises:
        UsageError: if one is none, one is named twice, or there are fewer than two.
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
    told = " ".join([*texts, *([f"--baseline {baseline}"] if baseline is not None else [])])
    if len(found) < 2:
        raise UsageError(f"{told}: this is one run, and at least two are compared")
    _refuse_shared(told, found)
    return list(found.values())


def _sides(text: str) -> list[Folders]:
    if "," not in text or Path(text).exists():
        return [(path,) for path in runs.named(text)]
    parts = [path for part in text.split(",") for path in runs.named(part)]
    if len(set(_resolved(parts))) < len(parts):
        raise UsageError(f"{text}: a folder is named twice; each of them is a run of its own")
    return [tuple(parts)]


def _resolved(side: Iterable[Path]) -> Folders:
    return tuple(path.resolve() for path in side)


def _refuse_shared(told: str, sides: Iterable[Folders]) -> None:
    """Refuse a run that is part of two sides."""
    seen: set[Path] = set()
    for side in sides:
        if both := seen.intersection(side):
            raise UsageError(f"{told}: {both.pop().name} is on two sides; a run is not compared with itself")
        seen.update(side)
