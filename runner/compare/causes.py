"""What differs between runs, as far as their folders tell: the possible causes of a change, the likeliest first.

Names of folders and times of day are no causes, and what a device was measured to do is told only if it changed.
"""

from __future__ import annotations

import math
import re
import statistics
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from runner.compare import sources
from runner.compare.changes import Comparison
from runner.compare.kinds import KINDS, TELLING, kind_of
from runner.compare.loading import Run, values
from runner.report.folder import flat
from runner.report.text import absent, count, listed, one_line

_FOLDER = re.compile(r" '?hydra\.(sweep|run)\.dir=\S+| --config-(path|dir)[ =]\S+")
"""Of a command: where things lie, which is no cause; what lies there is compared by itself."""

MEASURED = 0.02  # what was measured of a device differs by a little each time
CONDITIONS = {"sm_mhz": "clock while measuring, median (MHz)", "temperature_c": "temperature, median (°C)"}
OF_A_CASE = ("compiler", "launcher", "grid", "shared_dynamic", "registers", "local_bytes")


@dataclass(frozen=True)
class Cause:
    """Something that differs: of what kind, what it is, and its value in each run, the baseline's first."""

    kind: str
    name: str
    values: tuple[str, ...]


@dataclass(frozen=True)
class Causes:
    """What differs, the likeliest causes first, and what of the environments is the same."""

    differing: list[Cause]
    same: list[tuple[str, str]]

    def telling(self) -> list[Cause]:
        """Those that a reader must know before the times."""
        return [cause for cause in self.differing if cause.kind in TELLING]


def causes(base: Run, comparisons: Sequence[Comparison]) -> Causes:
    """What differs between the baseline and the runs that were compared with it."""
    compared = [base, *(comparison.other for comparison in comparisons)]
    environments = [{name: _FOLDER.sub("", value) for name, value in flat(run.environment)} for run in compared]
    names = list(dict.fromkeys(name for environment in environments for name in environment))
    told = [(kind, name, tuple(e.get(name, "") for e in environments)) for name in names if (kind := kind_of(name))]
    known = [place for place, environment in enumerate(environments) if environment]
    differing = [
        Cause(k, _plain(name), tuple(map(_readable, found)))
        for k, name, found in told
        if _differ(k, [found[n] for n in known])
    ]
    if len(known) < len(compared):
        kept = tuple("" if environment else "not in the folder" for environment in environments)
        differing.append(Cause("runner", "environment.json", kept))
    differing += [*_of_sources(comparisons), *_of_parameters(compared), *_of_cases(comparisons)]
    differing.sort(key=lambda cause: KINDS.index(cause.kind))
    return Causes(differing, [(_plain(name), found[0]) for _, name, found in told if len(set(found)) == 1])


def _plain(name: str) -> str:
    return name.removeprefix("devices.")


def _readable(value: str) -> str:
    """A measured number in four digits; anything else as it is."""
    return f"{float(value):.4g}" if "." in value and len(value) > 7 and _number(value) else value


def _differ(kind: str, found: Sequence[str]) -> bool:
    if kind == "clocks" and all(_number(value) for value in found):
        numbers = [_number(value) for value in found]
        return max(numbers) > (1 + MEASURED) * min(numbers)
    return len(set(found)) > 1


def _number(text: str) -> float:
    """The number above zero that a text is; else 0."""
    try:
        number = float(text)
    except ValueError:
        return 0.0
    return number if 0 < number < math.inf else 0.0


def _of_sources(comparisons: Sequence[Comparison]) -> Iterator[Cause]:
    changed = [{c.name: c.summary for c in sources.changed(found.base, found.other)} for found in comparisons]
    for name in dict.fromkeys(name for files in changed for name in files):
        yield Cause("kernel source", name, ("", *(files.get(name, "as the baseline") for files in changed)))
    lacking = [sources.missing(comparisons[0].base), *(sources.missing(found.other) for found in comparisons)]
    if any(lacking) and not all(lacking):
        yield Cause("kernel source", "sources/", tuple("not in the folder" if lacks else "" for lacks in lacking))
    other_code = [_other_code(found) for found in comparisons]
    if any(other_code):
        yield Cause("kernel source", "machine code", ("", *other_code))


def _other_code(comparison: Comparison) -> str:
    """In how many common cases it is not the same."""
    known = [c.pair for c in comparison.changes if not absent(c.pair.base["binary"]) and c.pair.other["binary"]]
    other = sum(str(pair.base["binary"]) != str(pair.other["binary"]) for pair in known)
    return f"another in {other:,} of {count(len(known), 'case')}" if other else ""


def _of_parameters(compared: Sequence[Run]) -> Iterator[Cause]:
    """Values that not every run has; the common cases are equal in all of them."""
    for name in compared[0].parameters:
        found = [values(run.rows, name) for run in compared]
        if len({frozenset(told) for told in found}) > 1:
            yield Cause("parameters", name, tuple(_listed(told) for told in found))


def _listed(found: Iterable[str]) -> str:
    return one_line(", ".join(value or "none" for value in found), 120)


def _of_cases(comparisons: Sequence[Comparison]) -> Iterator[Cause]:
    """What the rows of common cases tell of how they were compiled, launched and measured."""
    for name in OF_A_CASE:
        kind = "method" if name == "launcher" else "toolkit" if name == "compiler" else "kernel source"
        told = [_changed(found, name) for found in comparisons]
        if any(told):
            yield Cause(kind, name, ("", *told))
    first = [change.pair.base for change in comparisons[0].changes]
    tables = [first, *([change.pair.other for change in found.changes] for found in comparisons)]
    for name, meaning in CONDITIONS.items():
        medians = [statistics.median([r[name] for r in rows if not absent(r[name])] or [0]) for rows in tables]
        if min(medians) and max(medians) > (1 + MEASURED) * min(medians):
            yield Cause("clocks", meaning, tuple(f"{median:,.0f}" for median in medians))
    throttled = [sum(row["throttled"] == "True" for row in rows) for rows in tables]
    if len(set(throttled)) > 1:
        yield Cause("clocks", "times of a throttled GPU", tuple(f"{n:,}" for n in throttled))


def _changed(comparison: Comparison, name: str) -> str:
    """The values of a column where a case has another one than in the baseline: `16 to 24 in 3 cases`."""
    pairs = [(c.pair.base[name], c.pair.other[name]) for c in comparison.changes if c.decision]
    moved = [(was, now) for was, now in pairs if not absent(was) and not absent(now) and was != now]
    if not moved:
        return ""
    told = [f"{one_line(str(was), 20)} to {one_line(str(now), 20)}" for was, now in dict.fromkeys(moved)]
    examples = listed(told[:3]) if len(told) <= 3 else f"{', '.join(told[:2])} and others"
    return f"{examples} in {count(len(moved), 'case')}"
