"""The lines of kernels whose cost changed from the baseline, and how the machine code of cases differs.

Lines are matched by a diff if the source has changed. Machine code is compared if both folders have it.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from runner.compare.changes import Comparison, Word
from runner.compare.runs import Compared, Row
from runner.device import cache
from runner.display.table import Table
from runner.display.text import count, described, limited_lines, one_line
from runner.stages.code import machine_code
from runner.stages.lines import costs as lines
from runner.stages.lines.costs import BRANCH, LineCost

MIN_CHANGE = 0.01  # least relative change of sectors, wavefronts or divergent branches that counts
MAX_PAIRS = 24  # pairs of binaries that are compared
MAX_LINES = 300  # lines of a diff in the page

Costs = tuple[LineCost | None, LineCost | None]
"""The cost of a line in the baseline and in the run; `None` if one of them lacks the line."""


@dataclass
class ChangedLine:
    """The change of a line's cost, in all cases with the same change."""

    kernel: str
    place: str  # file and line in the run, or in the baseline if the run lacks it
    text: str  # the source line
    access: str  # such as `global store`
    unit: str
    before: float | None  # `None` if the baseline lacks the line
    now: float | None  # `None` if the run lacks the line
    cases: list[str] = field(default_factory=list)  # ids

    @property
    def values(self) -> str:
        """The change in words, as in `32 -> 4 sectors`."""
        before, now = ("none" if value is None else f"{value:,.4g}" for value in (self.before, self.now))
        return f"{before} -> {now} {self.unit}"


def changed_lines(comparison: Comparison) -> list[ChangedLine]:
    """List the lines whose cost changed in cases that both runs counted, the largest change first."""
    base, other = (lines.read(run.folder) for run in (comparison.base, comparison.other))
    was, now = _sources(comparison.base), _sources(comparison.other)
    renumbered = {name: _renumber(was[name], now[name]) for name in was.keys() & now.keys()}
    changed: dict[tuple[object, ...], ChangedLine] = {}
    for change in comparison.common:
        case, kernel = str(change.row["case"]), str(change.row["kernel"])
        if case not in base or case not in other:
            continue
        for before, after in _changed_costs(base[case], other[case], renumbered):
            line = after or before
            assert line  # noqa: S101  (at most one of both is None)
            source = (now if after else was).get(line.file, [])
            text = source[line.line - 1].strip() if line.line <= len(source) else ""
            place, access = f"{line.file}:{line.line}", " ".join(filter(None, (line.memory, line.kind)))
            costs = before.actual if before else None, after.actual if after else None
            entry = ChangedLine(kernel, place, text, access, line.unit, *costs)
            changed.setdefault((kernel, place, access, *costs), entry).cases.append(case)
    return sorted(changed.values(), key=lambda line: (-abs((line.now or 0) - (line.before or 0)), line.place))


def line_sentence(line: ChangedLine) -> str:
    """Describe a changed line, for the terminal."""
    where = f"{line.kernel}, {line.place}, {line.access}: {line.values} per request"
    return f"{where} in {count(len(line.cases), 'case')}: {one_line(line.text, 80)}"


def line_table(changed: Sequence[ChangedLine]) -> Table:
    """Make the page's table of changed lines."""
    columns = ["kernel", "line", "source", "access", "before -> now", "cases"]
    rows = [(c.kernel, c.place, one_line(c.text, 120), c.access, c.values, str(len(c.cases))) for c in changed]
    return Table.of(columns, rows)


def _changed_costs(
    base: Sequence[LineCost], other: Sequence[LineCost], renumbered: Mapping[str, Mapping[int, int]]
) -> Iterator[Costs]:
    after = {lines.key(cost): cost for cost in other}
    before = {
        (cost.file, renumbered.get(cost.file, {}).get(cost.line, -cost.line), cost.memory, cost.kind): cost
        for cost in base
    }
    for key in {**before, **after}:
        costs = before.get(key), after.get(key)
        values = [cost.actual if cost else 0.0 for cost in costs]
        lone_access = None in costs and key[-1] != BRANCH
        if lone_access or abs(values[0] - values[1]) > MIN_CHANGE * max(values):
            yield costs


def _renumber(was: Sequence[str], now: Sequence[str]) -> dict[int, int]:
    """Map old line numbers to new ones, for equal lines and for lines that were replaced by equally many."""
    numbers: dict[int, int] = {}
    for tag, a, a_end, b, b_end in difflib.SequenceMatcher(None, was, now, autojunk=False).get_opcodes():
        if tag == "equal" or (tag == "replace" and a_end - a == b_end - b):
            numbers.update(zip(range(a + 1, a_end + 1), range(b + 1, b_end + 1), strict=True))
    return numbers


def _sources(run: Compared) -> dict[str, list[str]]:
    """The lines of the sources in the run folder, by file name."""
    root = run.folder.sources.resolve()
    paths = [path for path in sorted(root.rglob("*.cu*")) if path.resolve().is_relative_to(root) and path.is_file()]
    return {Path(path).name: cache.read(path).splitlines() for path in paths}


@dataclass(frozen=True)
class ChangedCode:
    """Two binaries of the same cases: the number of removed and added instructions in words, and the diff."""

    sentence: str
    diff: str


def changed_code(comparison: Comparison) -> list[ChangedCode]:
    """Compare the binaries of common cases. Cases whose result or time changed come first."""
    pairs: dict[tuple[str, str], list[Row]] = {}
    for change in sorted(comparison.common, key=lambda change: list(Word).index(change.word)):
        names = str(change.pair.base.get("binary") or ""), str(change.pair.other.get("binary") or "")
        if all(names) and names[0] != names[1]:
            pairs.setdefault(names, []).append(change.row)
    changed = []
    for (before, after), rows in list(pairs.items())[:MAX_PAIRS]:
        was = machine_code.disassembled(comparison.base.folder, before)
        now = machine_code.disassembled(comparison.other.folder, after)
        if was and now:
            difference = machine_code.difference(was, now)
            others = f" and {count(len(rows) - 1, 'other case')}" if len(rows) > 1 else ""
            numbers = f"{count(difference.removed, 'instruction')} removed, {difference.added:,} added"
            words = numbers if difference.removed + difference.added else "the same instructions"
            sentence = f"{described(rows[0], comparison.varying)}{others}: {words}"
            changed.append(ChangedCode(sentence, "\n".join(limited_lines(difference.diff.splitlines(), MAX_LINES))))
    return changed
