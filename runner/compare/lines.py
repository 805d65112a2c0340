"""The lines of kernels whose cost changed from the baseline. Lines are matched by a diff if the source has changed."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from runner.compare.changes import Comparison
from runner.compare.runs import Compared
from runner.device import cache
from runner.display.table import Table
from runner.display.text import count, one_line
from runner.stages.lines import costs as lines
from runner.stages.lines.costs import BRANCH, LineCost

LEAST = 0.01  # least relative change of sectors, wavefronts or divergent branches that counts


@dataclass
class ChangedLine:
    """The change of a line's cost, in all cases with the same change."""

    kernel: str
    place: str  # file and line in the run, or in the baseline if the run lacks it
    text: str  # the source line
    what: str  # such as `global store`
    unit: str
    before: float | None  # `None` if the baseline lacks the line
    now: float | None  # `None` if the run lacks the line
    cases: list[str] = field(default_factory=list)  # ids

    @property
    def values(self) -> str:
        """The change in words, as in `32 -> 4 sectors`."""
        return f"{_value(self.before)} -> {_value(self.now)} {self.unit}"

    @property
    def size(self) -> float:
        """The absolute change per request."""
        return abs((self.now or 0) - (self.before or 0))


def changed_lines(comparison: Comparison) -> list[ChangedLine]:
    """List the lines whose cost changed in cases that both runs counted, the largest change first."""
    base, other = (lines.read(run.folder) for run in (comparison.base, comparison.other))
    was, now = _sources(comparison.base), _sources(comparison.other)
    renumbered = {name: _renumbered(was[name], now[name]) for name in was.keys() & now.keys()}
    found: dict[tuple[object, ...], ChangedLine] = {}
    for change in comparison.common:
        case, kernel = str(change.row["case"]), str(change.row["kernel"])
        if case not in base or case not in other:
            continue
        for one in _changed(base[case], other[case], renumbered):
            before, after = one
            line = after or before
            assert line  # noqa: S101  (at most one of both is None)
            texts = (now if after else was).get(line.file, [])
            text = texts[line.line - 1].strip() if line.line <= len(texts) else ""
            what = " ".join(filter(None, (line.memory, line.kind)))
            cost, costs = (None if side is None else side.actual for side in one)
            made = ChangedLine(kernel, f"{line.file}:{line.line}", text, what, line.unit, cost, costs)
            found.setdefault((kernel, made.place, what, cost, costs), made).cases.append(case)
    return sorted(found.values(), key=lambda line: (-line.size, line.place))


def line_sentence(line: ChangedLine) -> str:
    """Describe a changed line, for the terminal."""
    where = f"{line.kernel}, {line.place}, {line.what}: {line.values} per request"
    return f"{where} in {count(len(line.cases), 'case')}: {one_line(line.text, 80)}"


def line_table(changed: Sequence[ChangedLine]) -> Table:
    """Make the page's table of changed lines."""
    columns = ["kernel", "line", "source", "access", "before -> now", "cases"]
    rows = [(c.kernel, c.place, one_line(c.text, 120), c.what, c.values, str(len(c.cases))) for c in changed]
    return Table.of(columns, rows)


def _changed(
    base: Sequence[LineCost], other: Sequence[LineCost], renumbered: Mapping[str, Mapping[int, int]]
) -> Iterator[tuple[LineCost | None, LineCost | None]]:
    after = {lines.key(cost): cost for cost in other}
    before = {}
    for cost in base:
        line = renumbered.get(cost.file, {}).get(cost.line)
        before[cost.file, -cost.line if line is None else line, cost.memory, cost.kind] = cost
    for key in {**before, **after}:
        pair = before.get(key), after.get(key)
        values = [0.0 if one is None else one.actual for one in pair]
        alone = None in pair and key[-1] != BRANCH
        if alone or abs(values[0] - values[1]) > LEAST * max(values):
            yield pair


def _renumbered(was: Sequence[str], now: Sequence[str]) -> dict[int, int]:
    """Map old line numbers to new ones, for equal lines and for lines that were replaced by equally many."""
    found = {}
    for tag, a, a_end, b, b_end in difflib.SequenceMatcher(None, was, now, autojunk=False).get_opcodes():
        if tag == "equal" or (tag == "replace" and a_end - a == b_end - b):
            found.update({a + n + 1: b + n + 1 for n in range(a_end - a)})
    return found


def _sources(run: Compared) -> dict[str, list[str]]:
    """The lines of the sources in the run folder, by file name."""
    root = run.folder.sources.resolve()
    paths = [path for path in sorted(root.rglob("*.cu*")) if path.resolve().is_relative_to(root) and path.is_file()]
    return {Path(path).name: cache.read(path).splitlines() for path in paths}


def _value(value: float | None) -> str:
    return "none" if value is None else f"{value:,.4g}"
