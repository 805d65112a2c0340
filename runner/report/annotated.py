"""Annotate a kernel's source with what each line costs, and the hazards that were found at it.

Many cases of a kernel have the same costs at every line. Each group of such cases is a reading; the page's reader
chooses one.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from runner.display.text import absent, count, described, one_line
from runner.record.folder import RunFolder
from runner.record.run import Run
from runner.stages.lines import costs as lines
from runner.stages.lines.costs import LineCost

MOST_READINGS = 6  # per kernel; lines.csv has all
AROUND = 4  # lines that are shown before and after a line with a note; the others are folded
COSTLY = 1.25  # a line is marked from this multiple of the ideal on
MOST_HAZARDS = 8  # per line

_PLACE = re.compile(r"(?P<file>[\w.+-]+\.(?:cuh?|hpp|h|inc)):(?P<line>\d+)")


@dataclass(frozen=True)
class Note:
    """One cost of a line."""

    cost: LineCost
    reading: int
    mark: str  # `worst`, `costly` or empty

    @property
    def ratio(self) -> str:
        """Actual, ideal and unit, as in `32 / 4 sectors`."""
        cost = self.cost
        if cost.kind == lines.BRANCH:
            return f"{cost.divergent_branches:,} of {cost.requests:,} branches"
        unit = cost.unit[:-1] if cost.actual == 1 and cost.ideal == 1 else cost.unit
        return f"{_number(cost.actual)} / {_number(cost.ideal)} {unit}"

    @property
    def rest(self) -> str:
        """The access: memory, kind, lanes, bytes and requests."""
        cost = self.cost
        if cost.kind == lines.BRANCH:
            return "diverged"
        lanes = "" if cost.lanes is None else f"{_number(cost.lanes)} lane{'s' * (cost.lanes != 1)}"
        size = "" if cost.bytes is None else f"{_number(cost.bytes)} B"
        return ", ".join(filter(None, (f"{cost.memory} {cost.kind}", lanes, size, f"×{cost.requests:,}")))  # noqa: RUF001


@dataclass(frozen=True)
class LineHazard:
    """A hazard at a line, with links to the other lines that it names."""

    text: str
    others: tuple[tuple[str, str], ...]  # anchor and text of each link


@dataclass
class SourceLine:
    """A line of a source, or a fold that stands for several lines."""

    number: int
    text: str
    anchor: str = ""
    notes: list[Note] = field(default_factory=list)
    hazards: list[LineHazard] = field(default_factory=list)
    folded: int = 0  # number of lines, from this one on, that a fold stands for

    @property
    def mark(self) -> str:
        """`hazard`, or the worst mark of the notes in the first reading."""
        marks = {note.mark for note in self.notes if note.reading == 0}
        return "hazard" if self.hazards else next((mark for mark in ("worst", "costly") if mark in marks), "")


@dataclass(frozen=True)
class Listing:
    """An annotated file of a kernel."""

    kernel: str
    file: str
    lines: list[SourceLine]
    readings: list[str]  # the cases of each reading, in words
    more: int  # number of further readings
    blocks: int  # that were run to count
    hazardous: str  # the cases with hazards, in words; empty without hazards


def listings(run: Run, sources: Mapping[str, Mapping[str, str]]) -> list[Listing]:
    """Annotate the sources of a run.

    Args:
        run: The run.
        sources: The texts of each kernel's files by name. A shared file is listed with the first kernel.

    Returns:
        The files of each kernel in which a line has a cost or a hazard.
    """
    costs = lines.read(run.folder)
    rows, names = run.rows, run.varying
    shared = {name: text for files in sources.values() for name, text in files.items()}
    found: list[Listing] = []
    for kernel in run.kernels:
        own = [row for row in rows if row["kernel"] == kernel]
        readings = _readings([row for row in own if row["case"] in costs], costs)
        said = [text for row in own for text in _said(run.folder, row)]
        hazardous = [row for row in own if row["status"] == "hazard"]
        words = _words(hazardous, names) if hazardous else ""
        found += _listings(kernel, {**shared, **sources.get(kernel, {})}, said, words, readings, names)
    return found


def _readings(
    rows: Sequence[Mapping[str, Any]], costs: Mapping[str, list[LineCost]]
) -> list[tuple[list[Mapping[str, Any]], list[LineCost]]]:
    """Group cases with the same costs at every line; the group of the fastest case comes first."""
    groups: dict[tuple[Any, ...], list[Mapping[str, Any]]] = {}
    ranked = sorted(rows, key=lambda row: math.inf if absent(row["cost"]) else row["cost"])
    for row in ranked:
        same = tuple(
            (*lines.key(c), c.actual, c.ideal, c.lanes) for c in costs[str(row["case"])] if c.kind != lines.BRANCH
        )
        groups.setdefault(same, []).append(row)
    return [(group, costs[str(group[0]["case"])]) for group in groups.values()]


def _listings(
    kernel: str,
    files: Mapping[str, str],
    said: Sequence[str],
    hazardous: str,
    readings: Sequence[tuple[list[Mapping[str, Any]], list[LineCost]]],
    names: list[str],
) -> Iterator[Listing]:
    by_name = {Path(name).name: (name, text) for name, text in files.items() if not name.endswith(".yaml")}
    shown = readings[:MOST_READINGS]
    notes: dict[tuple[str, int], list[Note]] = {}
    for number, (_, costs) in enumerate(shown):
        worst = {m: max((c.excess for c in costs if c.memory == m), default=0.0) for m in lines.UNITS}
        for cost in costs:
            if cost.kind == lines.BRANCH and not cost.divergent_branches:
                continue
            notes.setdefault((cost.file, cost.line), []).append(Note(cost, number, _mark(cost, worst)))
    hazards = _hazards(kernel, said, set(by_name))
    words = [_words(group, names) for group, _ in shown]
    for base, (name, text) in by_name.items():
        numbers = {line for file, line in (*notes, *hazards) if file == base}
        if numbers:
            made = [
                SourceLine(n, content, _anchor(kernel, base, n), notes.get((base, n), []), hazards.get((base, n), []))
                for n, content in enumerate(text.splitlines(), 1)
            ]
            blocks = max((cost.blocks for _, costs in shown for cost in costs), default=0)
            of = hazardous if any(line.hazards for line in made) else ""
            yield Listing(kernel, name, list(_folded(made)), words, len(readings) - len(shown), blocks, of)


def _mark(cost: LineCost, worst: Mapping[str, float]) -> str:
    if cost.kind == lines.BRANCH or cost.actual < COSTLY * cost.ideal:
        return ""
    return "worst" if cost.excess == worst[cost.memory] else "costly"


def _said(folder: RunFolder, row: Mapping[str, Any]) -> list[str]:
    """The messages of a row that may contain line numbers: findings of the checked device, else its reason and note."""
    found = None if absent(row["job"]) else folder.json(folder.hazards(int(row["job"])))
    if isinstance(found, list):
        return [str(one["text"]) for one in found if isinstance(one, dict) and "text" in one]
    reason = str(row["reason"]) if row["status"] == "hazard" else ""
    return [*reason.split("; also "), "" if absent(row["note"]) else str(row["note"])]


def _hazards(kernel: str, said: Iterable[str], files: set[str]) -> dict[tuple[str, int], list[LineHazard]]:
    found: dict[tuple[str, int], dict[str, LineHazard]] = {}
    for text in said:
        places = [(m["file"], int(m["line"])) for m in _PLACE.finditer(text) if m["file"] in files]
        for place in dict.fromkeys(places):
            others = dict.fromkeys(other for other in places if other != place)
            links = tuple((_anchor(kernel, *other), f"line {other[1]}") for other in others)
            at = found.setdefault(place, {})
            if len(at) < MOST_HAZARDS:
                alike = re.sub(r"\d+", "", text)  # merges hazards that differ only in the thread
                at.setdefault(f"{alike} {links}", LineHazard(one_line(text, 400), links))
    return {place: list(hazards.values()) for place, hazards in found.items()}


def _words(rows: Sequence[Mapping[str, Any]], names: list[str]) -> str:
    more = f", and {count(len(rows) - 1, 'more case')}" if len(rows) > 1 else ""
    return described(dict(rows[0]), names) + more


def _folded(source: Sequence[SourceLine]) -> Iterator[SourceLine]:
    """Fold long runs of lines without a note."""
    told = [n for n, line in enumerate(source) if line.notes or line.hazards]
    kept = {n for at in told for n in range(at - AROUND, at + AROUND + 1)}
    if len(source) < 4 * AROUND:
        kept = set(range(len(source)))
    n = 0
    while n < len(source):
        end = next((m for m in range(n, len(source)) if m in kept), len(source))
        if end - n > AROUND:
            yield SourceLine(source[n].number, "", folded=end - n)
            n = end
        else:
            end = max(end, n + 1)
            yield from source[n:end]
            n = end


def _anchor(kernel: str, file: str, line: int) -> str:
    return f"line-{re.sub('[^A-Za-z0-9_]+', '-', f'{kernel}-{file}')}-{line}"


def _number(value: float) -> str:
    return f"{value:,.4g}" if value < 10000 else f"{value:,.0f}"
