"""Annotate a kernel's source with what each line costs, and the hazards that were found at it.

Many cases of a kernel have the same costs at every line. Each group of such cases is a reading; the page's reader
chooses one.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from markupsafe import Markup

from runner.display.text import absent, count, described, four_digits, one_line
from runner.record.folder import RunFolder
from runner.record.run import Run
from runner.report.highlighting import highlighted
from runner.stages.lines import costs as lines
from runner.stages.lines.costs import LineCost

MAX_READINGS = 6  # per kernel; lines.csv has all
MAX_COSTLIEST = 3  # lines of a file that are shown at first, besides those that are marked
CONTEXT_LINES = 4  # that are shown before and after a line with a note; the others are folded
COSTLY = 1.25  # a line is marked from this multiple of the ideal on
MAX_HAZARDS = 8  # per line

Row = Mapping[str, Any]
Reading = tuple[list[Row], list[LineCost]]
"""Cases with the same costs, and these costs."""
Place = tuple[str, int]  # file and line

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
        return f"{four_digits(cost.actual)} / {four_digits(cost.ideal)} {unit}"

    @property
    def rest(self) -> str:
        """The access: memory, kind, lanes, bytes and requests."""
        cost = self.cost
        if cost.kind == lines.BRANCH:
            return "diverged"
        lanes = "" if cost.lanes is None else f"{four_digits(cost.lanes)} lane{'s' * (cost.lanes != 1)}"
        size = "" if cost.bytes is None else f"{four_digits(cost.bytes)} B"
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
    text: Markup
    anchor: str = ""
    notes: list[Note] = field(default_factory=list)
    hazards: list[LineHazard] = field(default_factory=list)
    folded: int = 0  # number of lines, from this one on, that a fold stands for
    first: bool = False  # whether it is shown before the reader asks for all lines

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

    @property
    def hidden(self) -> int:
        """The number of lines that wait until the reader asks for all."""
        return sum(line.folded or 1 for line in self.lines if not line.first)


def listings(run: Run, sources: Mapping[str, Mapping[str, str]]) -> list[Listing]:
    """The files of each kernel in which a line has a cost or a hazard, from the texts of its files by name."""
    costs = lines.read(run.folder)
    shared = {name: text for files in sources.values() for name, text in files.items()}
    annotated: list[Listing] = []
    for kernel in run.kernels:
        rows = [row for row in run.rows if row["kernel"] == kernel]
        readings = _readings([row for row in rows if row["case"] in costs], costs)
        messages = [text for row in rows for text in _messages(run.folder, row)]
        hazardous = [row for row in rows if row["status"] == "hazard"]
        cases = described_group(hazardous, run.varying) if hazardous else ""
        annotated += _listings(kernel, {**shared, **sources.get(kernel, {})}, messages, cases, readings, run.varying)
    return annotated


def _readings(rows: Sequence[Row], costs: Mapping[str, list[LineCost]]) -> list[Reading]:
    """Group cases with the same costs at every line; the group of the fastest case comes first."""
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in sorted(rows, key=lambda row: math.inf if absent(row["cost"]) else row["cost"]):
        accesses = (c for c in costs[str(row["case"])] if c.kind != lines.BRANCH)
        groups.setdefault(tuple((*lines.key(c), c.actual, c.ideal, c.lanes) for c in accesses), []).append(row)
    return [(group, costs[str(group[0]["case"])]) for group in groups.values()]


def _listings(
    kernel: str,
    files: Mapping[str, str],
    messages: Sequence[str],
    hazardous: str,
    readings: Sequence[Reading],
    names: list[str],
) -> Iterator[Listing]:
    by_name = {Path(name).name: (name, text) for name, text in files.items() if not name.endswith(".yaml")}
    shown = readings[:MAX_READINGS]
    notes: dict[Place, list[Note]] = {}
    for number, (_, costs) in enumerate(shown):
        worst = {m: max((c.excess for c in costs if c.memory == m), default=0.0) for m in lines.UNITS}
        for cost in costs:
            if cost.kind != lines.BRANCH or cost.divergent_branches:
                notes.setdefault((cost.file, cost.line), []).append(Note(cost, number, _mark(cost, worst)))
    hazards = _hazards(kernel, messages, set(by_name))
    cases = [described_group(group, names) for group, _ in shown]
    blocks = max((cost.blocks for _, costs in shown for cost in costs), default=0)
    for base, (name, text) in by_name.items():
        if any(file == base for file, _ in (*notes, *hazards)):
            costliest = _costliest(notes, base)
            source = [
                SourceLine(
                    n,
                    content,
                    _anchor(kernel, base, n),
                    notes.get((base, n), []),
                    hazards.get((base, n), []),
                    first=n in costliest or (base, n) in hazards,
                )
                for n, content in enumerate(highlighted(text.splitlines()), 1)
            ]
            where = hazardous if any(line.hazards for line in source) else ""
            yield Listing(kernel, name, list(_fold(source)), cases, len(readings) - len(shown), blocks, where)


def _costliest(notes: Mapping[Place, Sequence[Note]], file: str) -> set[int]:
    """The lines of a file that cost most in a reading, and those that are marked."""
    costs: dict[int, dict[int, float]] = {}  # by reading and line
    marked = set()
    for (name, line), own in notes.items():
        for note in own if name == file else ():
            by_line = costs.setdefault(note.reading, {})
            by_line[line] = by_line.get(line, 0.0) + note.cost.actual * note.cost.requests
            marked |= {line} if note.mark else set()
    most = (sorted(by_line, key=lambda line: -by_line[line])[:MAX_COSTLIEST] for by_line in costs.values())
    return marked.union(*most)


def _mark(cost: LineCost, worst: Mapping[str, float]) -> str:
    if cost.kind == lines.BRANCH or cost.actual < COSTLY * cost.ideal:
        return ""
    return "worst" if cost.excess == worst[cost.memory] else "costly"


def _messages(folder: RunFolder, row: Row) -> list[str]:
    """The messages of a row that may contain line numbers: findings of the checked device, else its reason and note."""
    content = None if absent(row["job"]) else folder.json(folder.hazards(int(row["job"])))
    if isinstance(content, list):
        return [str(entry["text"]) for entry in content if isinstance(entry, dict) and "text" in entry]
    reason = str(row["reason"]) if row["status"] == "hazard" else ""
    return [*reason.split("; also "), "" if absent(row["note"]) else str(row["note"])]


def _hazards(kernel: str, messages: Iterable[str], files: set[str]) -> dict[Place, list[LineHazard]]:
    hazards: dict[Place, dict[str, LineHazard]] = {}
    for text in messages:
        places = dict.fromkeys((m["file"], int(m["line"])) for m in _PLACE.finditer(text) if m["file"] in files)
        for place in places:
            links = tuple((_anchor(kernel, *other), f"line {other[1]}") for other in places if other != place)
            at_line = hazards.setdefault(place, {})
            if len(at_line) < MAX_HAZARDS:
                alike = re.sub(r"\d+", "", text)  # merges hazards that differ only in the thread
                at_line.setdefault(f"{alike} {links}", LineHazard(one_line(text, 400), links))
    return {place: list(by_text.values()) for place, by_text in hazards.items()}


def described_group(rows: Sequence[Mapping[str, Any]], names: list[str], noun: str = "more case") -> str:
    """The first of some cases in words, and how many others there are."""
    return described(dict(rows[0]), names) + (f", and {count(len(rows) - 1, noun)}" if len(rows) > 1 else "")


def _fold(source: Sequence[SourceLine]) -> Iterator[SourceLine]:
    """Fold long runs of lines without a note."""
    marked = [n for n, line in enumerate(source) if line.notes or line.hazards]
    shown = {n for mark in marked for n in range(mark - CONTEXT_LINES, mark + CONTEXT_LINES + 1)}
    if len(source) < 4 * CONTEXT_LINES:
        shown = set(range(len(source)))
    for is_shown, group in itertools.groupby(enumerate(source), lambda numbered: numbered[0] in shown):
        run = [line for _, line in group]
        if is_shown or len(run) <= CONTEXT_LINES:
            yield from run
        else:
            yield SourceLine(run[0].number, Markup(), folded=len(run))


def _anchor(kernel: str, file: str, line: int) -> str:
    return f"line-{re.sub('[^A-Za-z0-9_]+', '-', f'{kernel}-{file}')}-{line}"
