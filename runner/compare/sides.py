"""The sides of a comparison: how the user names them, reading their folders, and leaving out what cannot be compared.

A folder that the user named by itself must be readable. One of a pattern that is not, or in which a sweep is running,
is left out with a reason, and so is every run that shares no case with the baseline.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from runner.compare.runs import Compared, join_keys, names_of, nothing_in_common, pooled, read_one, united
from runner.display.text import listed
from runner.errors import UsageError
from runner.record import runs
from runner.record.folder import RunFolder
from runner.report.figures.figure import group

Folders = tuple[Path, ...]  # a side of a comparison: a run, or several runs of the same sweep


@dataclass(frozen=True)
class Sides:
    """What the user named, the baseline first."""

    words: str  # of the command line
    folders: list[Folders]
    optional: frozenset[Folders]  # those that only a pattern named
    is_chosen: bool  # whether the user chose the baseline, instead of a pattern's first run

    @property
    def paths(self) -> list[Path]:
        """The folders of all sides."""
        return [path for side in self.folders for path in side]


@dataclass(frozen=True)
class Selected:
    """The runs that are compared, and those that are not."""

    base: Compared
    others: list[Compared]
    left_out: list[tuple[str, str]]  # names and reasons

    @property
    def sentences(self) -> list[str]:
        """Say which runs were left out, and why."""
        by_reason = group(self.left_out, lambda entry: entry[1])
        return [f"Left out: {listed([name for name, _ in own])}: {reason}." for reason, own in by_reason.items()]


def resolve(texts: Sequence[str], baseline: str | None) -> Sides:
    """Resolve the sides of a comparison, the baseline first; by default that is the first side.

    A text is a run in a form that `record.runs` resolves, a pattern for several runs, or the runs of one side separated
    by commas.

    Raises:
        UsageError: A run does not exist or is named twice, or there are fewer than two sides.
    """
    first = [] if baseline is None else _sides(baseline)
    if len(first) > 1:
        raise UsageError(f"--baseline {baseline}: {len(first)} runs match, expected one")
    chosen = {_resolved(side): side for side in first}
    alone = set(chosen)  # sides that were named by themselves
    named: dict[Path, str] = {}
    for text, sides in [(text, _sides(text)) for text in texts]:
        single = len(sides) == 1 and not any(letter in text for letter in "*?[")
        for side in sides:
            again = [path for path in _resolved(side) if path in named]
            if again and len(sides) == 1:
                raise UsageError(f"{text}: the same folder as {named[again[0]]}; a run cannot be compared with itself")
            named.update(dict.fromkeys(_resolved(side), text))
            chosen.setdefault(_resolved(side), side)
        alone.update(map(_resolved, sides if single else ()))
    words = " ".join([*texts, *([f"--baseline {baseline}"] if baseline is not None else [])])
    if len(chosen) < 2:
        raise UsageError(f"{words}: compare needs at least two runs")
    path, times = Counter(path for side in chosen for path in side).most_common(1)[0]
    if times > 1:
        raise UsageError(f"{words}: {path.name} is on two sides; a run cannot be compared with itself")
    optional = frozenset(side for key, side in chosen.items() if key not in alone)
    sides = list(chosen.values())
    return Sides(words, sides, optional, sides[0] not in optional)


def select(sides: Sides, step: Callable[[str], None]) -> Selected:
    """Read the runs, and leave out those that cannot be compared with the baseline.

    Args:
        sides: The folders.
        step: Called for each folder, with the run's name, to show progress.

    Raises:
        UsageError: A folder that was named by itself cannot be read, or no two runs are left.
    """
    names = dict(zip(sides.paths, names_of(sides.paths), strict=True))
    read: list[Compared] = []
    left_out: list[tuple[str, str]] = []
    for side in sides.folders:
        try:
            parts = []
            for path in side:
                step(names[path])
                parts.append(_read(path, names[path], running_too=side not in sides.optional))
            read.append(pooled(parts))
        except UsageError as error:
            if side not in sides.optional:
                raise
            left_out.append((names[side[0]], str(error)))
    if len(read) < 2:
        why = "; ".join(f"{name} is left out: {reason}" for name, reason in left_out)
        raise UsageError(f"{sides.words}: compare needs at least two runs; {why}")
    base, *others = read
    shares = [_share(base, other) for other in others]
    if not any(shares):
        raise UsageError(_advice(sides, read))
    why = f"no case in common with {base.name}"
    left_out += [(other.name, why) for other, common in zip(others, shares, strict=True) if not common]
    base, *others = united([base, *itertools.compress(others, shares)])
    return Selected(base, others, left_out)


def _read(path: Path, name: str, *, running_too: bool) -> Compared:
    with runs.reading(path):
        if not running_too and RunFolder(path).locked:
            raise UsageError("a sweep is running there")
        return read_one(path, name)


def _share(base: Compared, other: Compared) -> bool:
    before, after = join_keys(base, other)
    return not before.keys().isdisjoint(after)


def _advice(sides: Sides, read: Sequence[Compared]) -> str:
    """Say that nothing can be compared with the baseline, and what to do about it."""
    base, *others = read
    if len(others) == 1:
        return nothing_in_common(*united(read))
    start = f"{sides.words}: none of the other {len(others)} runs has a case in common with the baseline {base.name}"
    if sides.is_chosen:
        return f"{start}. For instance, {nothing_in_common(*united(read[:2]))}"
    partners = [sum(_share(one, other) for other in others if other is not one) for one in others]
    if not any(partners):
        return f"{start}, which is the first that matches, and no two of them have one"
    best = others[partners.index(max(partners))]
    what = f"{max(partners)} of them {'has' if max(partners) == 1 else 'have'} one with {best.name}"
    return f"{start}, which is the first that matches. {what}: add --baseline {best.folder.path}"


def _sides(text: str) -> list[Folders]:
    if "," not in text or Path(text).exists():
        return [(path,) for path in runs.find(text)]
    parts = tuple(path for part in text.split(",") for path in runs.find(part))
    if len(set(_resolved(parts))) < len(parts):
        raise UsageError(f"{text}: a folder is named twice; the runs of a side must be different")
    return [parts]


def _resolved(side: Folders) -> Folders:
    return tuple(path.resolve() for path in side)
