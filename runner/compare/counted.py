"""What was counted and changed: sectors, wavefronts and divergent branches a request of a warp.

    lines.csv of both runs, sources/ ─▶ lines, matched by a diff of the sources ─┐
    results.csv, where one of them lacks lines ─▶ averages over all lines ───────┴▶ counts by case ─▶ groups to show

Counts predict memory work, not time. They do not depend on the device, so they compare runs that no GPU timed.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path

from runner.compare.runs import Compared, Pair
from runner.device import cache
from runner.display.text import absent, count, limited, one_line
from runner.files import named_file
from runner.report.figures.figure import group
from runner.stages.lines import costs as lines
from runner.stages.lines.costs import BRANCH, LOAD, SHARED, STORE, UNITS, LineCost

MIN_CHANGE = 0.01  # least relative change that counts
AVERAGES = {f"{memory}_{kind}_{unit}": (memory, kind) for memory, unit in UNITS.items() for kind in (LOAD, STORE)}
"""The columns of results.csv with averages over all lines, each with its memory and kind of access."""


class Trend(StrEnum):
    """The words for a count, the most important first."""

    WORSE = "worse"
    BETTER = "better"
    CHANGED = "changed"  # neither: accesses became wider or narrower, or only one run has the line


@dataclass(frozen=True)
class Count:
    """The change of what a request costs at a line, or on average over all lines of a kernel, in one case."""

    case: str  # id
    kernel: str
    place: str  # file and line in the run, or in the baseline if the run lacks it; empty for an average
    text: str  # the source line
    access: str  # such as `global store`
    unit: str
    before: float | None  # `None` if the baseline lacks the line
    now: float | None  # `None` if the run lacks the line
    trend: Trend

    def __str__(self) -> str:
        return f"{self.place or self.kernel}, {self.access}: {_number(self.before)} -> {_number(self.now)} {self.unit}"


@dataclass(frozen=True)
class Group:
    """The counts of a line with one trend, in all cases."""

    counts: tuple[Count, ...]

    @property
    def trend(self) -> Trend:
        """Whether the line got better or worse."""
        return self.counts[0].trend

    @property
    def place(self) -> str:
        """Where the line is; the kernel, too, if the name of the file does not say it."""
        first = self.counts[0]
        if not first.place:
            return f"{first.kernel}, {self.accesses}"
        return first.place if first.place.startswith(f"{first.kernel}.") else f"{first.kernel}, {first.place}"

    @property
    def accesses(self) -> str:
        """What the line does, as in `global load, global store`."""
        return ", ".join(dict.fromkeys(each.access for each in self.counts))

    @property
    def values(self) -> str:
        """The change in words, as in `29.6 to 31.5 -> 4 sectors a request`."""
        first = self.counts[0]
        before, now = _range([c.before for c in self.counts]), _range([c.now for c in self.counts])
        return f"{before} -> {now} {first.unit} a request"

    @property
    def cases(self) -> list[str]:
        """The ids of the cases."""
        return list(dict.fromkeys(each.case for each in self.counts))

    def __str__(self) -> str:
        return f"{self.place}: {self.values} in {count(len(self.cases), 'case')} ({self.trend})"

    def line(self, names: Mapping[str, str]) -> str:
        """Describe the line with its cases, which have `names` by id, and its source."""
        own = [name for case in self.cases if (name := names.get(case))]
        cases = f" ({'; '.join(limited(own, 3))})" if own else ""
        where = self.place if self.accesses in self.place else f"{self.place}, {self.accesses}"
        text = f": {one_line(self.counts[0].text, 80)}" if self.counts[0].text else ""
        return f"{self.trend}: {where}: {self.values} in {count(len(self.cases), 'case')}{cases}{text}"


def changes(base: Compared, other: Compared, pairs: Sequence[Pair]) -> list[Count]:
    """List what was counted in both runs of a common case and differs by more than `MIN_CHANGE`."""
    before, after = lines.read(base.folder), lines.read(other.folder)
    was, now = (_sources(run) if before and after else {} for run in (base, other))
    renumbered = {name: _renumber(was[name], now[name]) for name in was.keys() & now.keys()}
    found: list[Count] = []
    for case, pair in {str(pair.base["case"]): pair for pair in pairs}.items():
        if case in before and case in after:
            costs = list(_changed(before[case], after[case], renumbered))
            found += (_of_line(pair, *both, was if both[1] is None else now) for both in costs)
        else:
            found += _averages(pair)
    return found


def groups(counts: Sequence[Count]) -> list[Group]:
    """Group counts by line and trend: worse ones first, then by the size of the change."""
    by_line = group(counts, lambda c: (c.kernel, c.place, c.unit, c.trend, "" if c.place else c.access))
    every = [Group(tuple(own)) for own in by_line.values()]
    order = list(Trend)
    return sorted(every, key=lambda g: (order.index(g.trend), -max(map(_size, g.counts)), g.place))


def lead(counts: Sequence[Count], most: int = 2) -> str:
    """Summarize in a sentence, as in `saxpy.cu:6: 31.5 -> 4 sectors a request in 2 cases (better)`."""
    every = groups(counts)
    judged = [g for g in every if g.trend is not Trend.CHANGED] or every
    # One of each trend first, so that nothing better hides what is worse.
    firsts = {g.trend: g for g in reversed(judged)}
    shown = list(dict.fromkeys([*(firsts[t] for t in Trend if t in firsts), *judged]))[:most]
    rest = [g for g in judged if g not in shown]
    numbers = [f"{n} {trend}" for trend in Trend if (n := sum(g.trend is trend for g in rest))]
    more = [f"{count(len(rest), 'more line')} ({', '.join(numbers)})"] if rest else []
    return "; ".join([*map(str, shown), *more])


def trend(counts: Sequence[Count]) -> str:
    """The word for several counts: the trend of those that have one, or `mixed`; empty without counts."""
    trends = {each.trend for each in counts}
    judged = trends - {Trend.CHANGED}
    return "mixed" if len(judged) > 1 else next(iter(judged or trends), "")


def _of_line(
    pair: Pair, before: LineCost | None, after: LineCost | None, sources: Mapping[str, Sequence[str]]
) -> Count:
    line = after or before
    assert line  # noqa: S101  (at most one of both is None)
    source = sources.get(line.file, ())
    text = source[line.line - 1].strip() if 0 < line.line <= len(source) else ""
    place, access = f"{line.file}:{line.line}" if line.line else "", " ".join(filter(None, (line.memory, line.kind)))
    values = before.actual if before else None, after.actual if after else None
    row = pair.other
    return Count(str(row["case"]), str(row["kernel"]), place, text, access, line.unit, *values, _trend(before, after))


def _trend(before: LineCost | None, after: LineCost | None) -> Trend:
    """Judge by what exceeds the ideal, since a wider access needs more sectors for more bytes."""
    if before is None or after is None:
        return Trend.CHANGED
    was, now = (cost.actual / (cost.ideal or 1) for cost in (before, after))
    return _judged(was, now)


def _judged(was: float, now: float) -> Trend:
    if not _differ(was, now):
        return Trend.CHANGED
    return Trend.WORSE if now > was else Trend.BETTER


def _differ(was: float, now: float) -> bool:
    return abs(was - now) > MIN_CHANGE * max(was, now)


def _averages(pair: Pair) -> Iterator[Count]:
    """Compare the averages in results.csv. With another grid, an access may be wider: neither better nor worse."""
    same_grid = str(pair.base.get("grid")) == str(pair.other.get("grid"))
    for name, (memory, kind) in AVERAGES.items():
        cells = [row.get(name) for row in (pair.base, pair.other)]
        was, now = (0.0 if cell is None or absent(cell) else float(cell) for cell in cells)
        if was and now and _differ(was, now):
            row, how = pair.other, _judged(was, now) if same_grid else Trend.CHANGED
            access = f"{memory} {kind}s"
            yield Count(str(row["case"]), str(row["kernel"]), "", "", access, UNITS[memory], was, now, how)


def _changed(
    base: Sequence[LineCost], other: Sequence[LineCost], renumbered: Mapping[str, Mapping[int, int]]
) -> Iterator[tuple[LineCost | None, LineCost | None]]:
    """Yield the costs that differ. If only one run has a line, the averages of its kind of access are compared, too."""
    after = {lines.key(cost): cost for cost in other}
    before = {
        (cost.file, renumbered.get(cost.file, {}).get(cost.line, -cost.line), cost.memory, cost.kind): cost
        for cost in base
    }
    moved: dict[tuple[str, str], None] = {}
    for key in {**before, **after}:
        was, now = before.get(key), after.get(key)
        lone_access = (was is None or now is None) and key[-1] != BRANCH
        if lone_access or _differ(was.actual if was else 0.0, now.actual if now else 0.0):
            yield was, now
        if lone_access:
            moved[key[2], key[3]] = None
    for memory, kind in moved:
        averages = [_average(costs, memory, kind) for costs in (base, other)]
        if averages[0] and averages[1] and _trend(*averages) is not Trend.CHANGED:
            yield averages[0], averages[1]


def _average(costs: Sequence[LineCost], memory: str, kind: str) -> LineCost | None:
    """The average over all lines, as the cost of line 0; `None` without such an access."""
    own = [cost for cost in costs if (cost.memory, cost.kind) == (memory, kind) and cost.requests]
    if not own:
        return None
    requests = sum(cost.requests for cost in own)
    actual, ideal = (
        sum(value * cost.requests for value, cost in zip(values, own, strict=True)) / requests
        for values in ([cost.actual for cost in own], [cost.ideal for cost in own])
    )
    empty = LineCost("", 0, memory, f"{kind}s", own[0].blocks, requests)
    if memory == SHARED:
        return replace(empty, wavefronts=actual, ideal_wavefronts=ideal)
    return replace(empty, sectors=actual, ideal_sectors=ideal)


def _renumber(was: Sequence[str], now: Sequence[str]) -> dict[int, int]:
    """Map old line numbers to new ones, for equal lines and for lines that were replaced by equally many."""
    numbers: dict[int, int] = {}
    for tag, a, a_end, b, b_end in difflib.SequenceMatcher(None, was, now, autojunk=False).get_opcodes():
        if tag == "equal" or (tag == "replace" and a_end - a == b_end - b):
            numbers.update(zip(range(a + 1, a_end + 1), range(b + 1, b_end + 1), strict=True))
    return numbers


def _sources(run: Compared) -> dict[str, list[str]]:
    """The lines of the sources in the run folder, by file name."""
    root = named_file.resolved(run.folder.sources)
    found = sorted(root.rglob("*.cu*")) if root.is_dir() else []
    paths = [path for path in found if named_file.resolved(path).is_relative_to(root) and path.is_file()]
    return {Path(path).name: cache.read(path).splitlines() for path in paths}


def _size(each: Count) -> float:
    return abs((each.now or 0) - (each.before or 0))


def _range(values: Sequence[float | None]) -> str:
    known = [value for value in values if value is not None]
    texts = dict.fromkeys(map(_number, (min(known), max(known)) if known else (None,)))
    return " to ".join(texts)


def _number(value: float | None) -> str:
    return "none" if value is None else f"{value:.3g}" if value < 1000 else f"{value:,.0f}"
