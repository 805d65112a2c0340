"""What a run found, in words. Pure: a frame in, sentences out; page and terminal only place them.

The first sentence has all that decides: how many match, what failed, the fastest, its share of the limit, its ties.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import pandas as pd

from runner.report.best import Told, fastest, of_note, told
from runner.report.folder import section
from runner.report.table import timed
from runner.report.text import count, listed, rough

IDLE = ("skipped", "not_run")
"""Statuses of cases that were never launched: neither right nor wrong."""

Level = Literal["good", "bad", "partial", "none"]

WORDS: dict[Level, str] = {"good": "Passed", "bad": "Failed", "partial": "Not finished", "none": "Nothing ran"}
"""The level for those who see no colours."""


@dataclass(frozen=True)
class Problem:
    """Cases that share a status and a reason: a reason is told once, however many cases it holds for.

    Attributes:
        status: the status, as in results.csv.
        reason: the reason, as in results.csv.
        rows: the numbers of the cases in results.csv.
        failed: False where the cases were not launched at all.
    """

    status: str
    reason: str
    rows: tuple[int, ...]
    failed: bool


@dataclass(frozen=True)
class Verdict:
    """What a reader should know first.

    Attributes:
        level: one word for the whole run.
        headline: the verdict in one sentence.
        fastest: the names of the ties, and the fastest of each further group of comparable cases.
        cautions: what keeps some of the times from being believed as they stand.
        problems: failures first, then what was not launched.
    """

    level: Level
    headline: str
    fastest: tuple[str, ...]
    cautions: tuple[str, ...]
    problems: tuple[Problem, ...]


def judge(frame: pd.DataFrame) -> Verdict:
    """The verdict on a run."""
    problems = _problems(frame)
    right = int((frame["status"] == "ok").sum())
    if any(problem.failed for problem in problems):
        level: Level = "bad"
    elif right == 0:
        level = "none"
    else:
        level = "partial" if (frame["status"] == "not_run").any() else "good"
    telling = of_note(frame)
    groups = told(telling, fastest(telling))
    clauses = [_matches(frame, right), *(group.clause for group in groups[:1])]
    return Verdict(level, f"{'; '.join(clauses)}.", _further(groups), _cautions(frame), problems)


def _further(groups: list[Told]) -> tuple[str, ...]:
    """What the first sentence leaves out."""
    others = [f"{group.clause[0].upper()}{group.clause[1:]}." for group in groups[1:]]
    return tuple(sentence for sentence in [*(group.level for group in groups[:1]), *others] if sentence)


def _matches(frame: pd.DataFrame, right: int) -> str:
    statuses = frame["status"].value_counts(sort=False)
    others = [f"{number:,} {str(status).replace('_', ' ')}" for status, number in statuses.items() if status != "ok"]
    if frame.empty:
        return "The run has no cases"
    if set(statuses.index) <= set(IDLE):
        return f"No case was launched: {listed(others)}"
    noun = "case matches" if len(frame) == 1 else "cases match"
    tail = f"; {', '.join(others)}" if others else ""
    unsure = int(((frame["status"] == "ok") & (pd.to_numeric(frame["undefined_reads"], errors="coerce") > 0)).sum())
    more = f" (in {unsure:,} of them lanes read undefined values, which are not compared)" if unsure else ""
    return f"{right:,} of {len(frame):,} {noun} the CPU reference{more}{tail}"


def _problems(frame: pd.DataFrame) -> tuple[Problem, ...]:
    bad = frame[frame["status"] != "ok"]
    groups = bad.groupby(["status", "reason"], sort=False)
    found = [
        Problem(str(status), str(reason), tuple(int(row) for row in rows.index), failed=status not in IDLE)
        for (status, reason), rows in groups
    ]
    return tuple(sorted(found, key=lambda problem: not problem.failed))


def _cautions(frame: pd.DataFrame) -> tuple[str, ...]:
    right = timed(frame)
    floor = section(frame.attrs.get("devices", {}), "cuda").get("empty_kernel_us")
    empty = f", which takes {rough(floor)} µs" if isinstance(floor, int | float) else ""
    told = {
        "timer_limited": f"short against an empty kernel{empty}: most of it is the launch",
        "host_bound": "disturbed, as the host queued launches too slowly",
        "throttled": "of a throttled GPU, though it was given pauses: clock_reasons says why",
    }
    numbers = {name: int((right[name] == "True").sum()) for name in told}
    return tuple(f"In {count(n, 'case')} the time is {told[name]} ({name})." for name, n in numbers.items() if n)
