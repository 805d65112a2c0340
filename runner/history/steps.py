"""A line for each case over many runs, and its steps: the changes that the rule of `runner compare` calls real.

A case is compared with its last correct run on the same model of device, and a failure with the run before it. All
cases that two runs share in this way are compared at once, by `runner.compare.changes.compare` itself. On the CPU
device, which has no times, any change of the counted memory work is a step.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from runner.compare import causes, changes
from runner.compare.changes import Comparison, Word
from runner.compare.runs import Row, united
from runner.display.terminal import SweepProgress
from runner.display.text import absent, described, four_digits, listed, one_line
from runner.errors import UsageError
from runner.history.index import Index
from runner.history.summary import COUNTS, Summary, is_failed
from runner.record import runs
from runner.record.ranking import IDLE

MORE, FEWER = "more work", "less work"
BAD, GOOD = (Word.BROKEN, Word.SLOWER, MORE), (Word.FIXED, Word.FASTER, FEWER)
STEPS = (*BAD, *GOOD)
"""The words of steps, the worst first."""

SMALL = 1e-9  # relative; smaller changes of a count are rounding errors of its average
TOLD_ELSEWHERE = ("git.commit", "git.dirty")  # differences between runs that a step shows anyway

Key = tuple[str, str, str]
"""A case on a device: the case's id, the kind of device, and its model."""


@dataclass(frozen=True)
class Step:
    """A real change of a case between two runs."""

    before: int  # the number of the run before it
    run: int
    word: str  # one of `STEPS`
    ratio: float  # new value by the old one; 1 if it has none
    low: float  # the interval of the ratio; NaN without one
    high: float
    note: str

    @property
    def is_bad(self) -> bool:
        """Whether the case got worse."""
        return self.word in BAD

    @property
    def rank(self) -> tuple[int, float]:
        """A key that sorts steps, the worst first."""
        return STEPS.index(self.word), -max(self.ratio, 1 / self.ratio)


@dataclass(frozen=True)
class Line:
    """A case over time: its rows by the numbers of their runs, and its steps, both in order."""

    key: Key
    rows: dict[int, Row] = field(default_factory=dict)
    steps: list[Step] = field(default_factory=list)
    parameters: dict[str, None] = field(default_factory=dict)  # that its runs distinguish cases by, in order
    doubtful: set[int] = field(default_factory=set)  # runs with several rows of the case, such as timed in two ways

    @property
    def newest(self) -> Row:
        """The case's row in its newest run."""
        return self.rows[max(self.rows)]

    @property
    def is_worse(self) -> bool:
        """Whether its newest step made it worse."""
        return bool(self.steps) and min(s.rank for s in self.steps if s.run == self.steps[-1].run)[0] < len(BAD)


@dataclass(frozen=True)
class Event:
    """All steps between two runs, the worst first, and what else changed: kind, what, before, after."""

    before: int
    run: int
    steps: list[tuple[Line, Step]]
    causes: list[tuple[str, str, str, str]]


def lines(summaries: Sequence[Summary]) -> dict[Key, Line]:
    """The line of each case of these runs. Cases that were skipped or not reached are left out."""
    found: dict[Key, Line] = {}
    for number, run in enumerate(summaries):
        for row in run.rows:
            if row["status"] not in IDLE:
                key = str(row["case"]), str(row["device"]), run.model(row)
                line = found.setdefault(key, Line(key))
                line.parameters.update(dict.fromkeys(run.parameters))
                if line.rows.setdefault(number, row) is not row:
                    line.doubtful.add(number)
    return found


def find(
    root: Path, summaries: Sequence[Summary], found: dict[Key, Line], index: Index, progress: SweepProgress
) -> list[Event]:
    """Find the steps of all lines and add them; returns the events, the newest first."""
    pairs: dict[tuple[int, int], list[Line]] = {}
    for line in found.values():
        for pair in _pairs(line):
            pairs.setdefault(pair, []).append(line)
    progress.stage("comparing runs", len(pairs))
    events = []
    for (before, run), shared in sorted(pairs.items(), reverse=True):
        base, other = summaries[before], summaries[run]
        progress.show_step(other.name)
        cases = hashlib.sha256(json.dumps(sorted(line.key for line in shared)).encode()).hexdigest()
        stamp = f"{base.stamp} {other.stamp} {cases}"
        content = index.get(stamp, other.name, base.name)
        event = _restored(content, before, run, found)
        if event is None:
            content = _compared(root, base, other, [(line.rows[before], line.rows[run]) for line in shared])
            index.put(content, stamp, other.name, base.name)
            event = _restored(content, before, run, found)
        if event and event.steps:
            events.append(event)
        progress.step()
    for event in reversed(events):
        for line, step in event.steps:
            line.steps.append(step)
    for line in found.values():
        line.steps.sort(key=lambda step: (step.run, step.rank))
    return events


def names_of(found: Iterable[Line]) -> dict[Key, str]:
    """The name of each case: its kernel, the parameters that vary among the kernel's cases, and always the size."""
    by_kernel: dict[str, list[Line]] = {}
    for line in found:
        by_kernel.setdefault(str(line.newest["kernel"]), []).append(line)
    named = {}
    for same in by_kernel.values():
        values: dict[str, set[str]] = {}
        for line in same:
            for name, value in line.newest.items():
                if name in line.parameters and not absent(value):
                    values.setdefault(name, set()).add(str(value))
        varying = [name for name, own in values.items() if name == "size" or len(own) > 1]
        for line in same:
            names = [name for name in varying if name in line.newest and name not in ("kernel", "device")]
            named[line.key] = one_line(described(line.newest, names), 160)
    return named


def _pairs(line: Line) -> set[tuple[int, int]]:
    """The pairs of runs between which a line may have a step."""
    pairs, last, correct = set(), -1, -1
    for number, row in line.rows.items():
        if number in line.doubtful:
            continue
        if last >= 0 and is_failed(row) != is_failed(line.rows[last]):
            pairs.add((last, number))
        if not is_failed(row):
            if correct >= 0:
                pairs.add((correct, number))
            correct = number
        last = number
    return pairs


def _compared(root: Path, base: Summary, other: Summary, shared: Sequence[tuple[Row, Row]]) -> Any:
    """The steps of some cases between two runs, and what else changed, for the index."""
    before, after = united(
        [base.compared(root, (was for was, _ in shared)), other.compared(root, (now for _, now in shared))]
    )
    try:
        with runs.reading(other.name):
            comparison = changes.compare(before, after, lambda _: None)
            steps = [
                [[str(change.row["case"]), str(change.row["device"]), other.model(change.row)], *step]
                for change in comparison.changes
                if (step := _step(change))
            ]
            return {"steps": steps, "causes": _causes(comparison) if steps else []}
    except UsageError:  # a folder that cannot be compared must not hide the others
        return {"steps": [], "causes": []}


def _step(change: changes.Change) -> list[Any] | None:
    """The word, ratio, interval and note of a real change; `None` for others."""
    decision, pair = change.decision, change.pair
    if change.word in STEPS:
        numbers = (decision.change, decision.low, decision.high) if decision else (1.0, float("nan"), float("nan"))
        return [str(change.word), *numbers, one_line(change.note, 200)]
    if not (pair.base["emulated"] and pair.other["emulated"] and change.word is Word.SAME):
        return None
    counts = [(text, pair.base[name], pair.other[name]) for name, text in COUNTS.items()]
    differing = [c for c in counts if not absent(c[1]) and not absent(c[2]) and abs(c[1] - c[2]) > SMALL * abs(c[1])]
    if not differing:
        return None
    note = listed([f"{text} {four_digits(was)} to {four_digits(now)}" for text, was, now in differing])
    ratios = [now / was for _, was, now in differing if was > 0 and now > 0]
    ratio = max(ratios, key=lambda r: max(r, 1 / r), default=1.0)
    worse = ratio > 1 or (not ratios and differing[0][2] > differing[0][1])
    return [MORE if worse else FEWER, ratio, float("nan"), float("nan"), f"{note} per request"]


def _causes(comparison: Comparison) -> list[tuple[str, str, str, str]]:
    found = causes.causes(comparison.base, [comparison]).differing
    return [
        (cause.kind, one_line(cause.name, 80), *(one_line(value, 120) for value in cause.values))  # type: ignore[misc]
        for cause in found
        if cause.name not in TOLD_ELSEWHERE
    ]


def _restored(content: Any, before: int, run: int, found: dict[Key, Line]) -> Event | None:
    """An event from the index; `None` if this is not what this version writes."""
    try:
        steps = []
        for key, word, ratio, low, high, note in content["steps"]:
            step = Step(before, run, str(word), float(ratio), float(low), float(high), str(note))
            steps.append((found[tuple(key)], step))
        kinds = [(str(kind), str(name), str(was), str(now)) for kind, name, was, now in content["causes"]]
        return Event(before, run, sorted(steps, key=lambda one: one[1].rank), kinds)
    except runs.MALFORMED:
        return None
