"""What a CI system is told: the cases with their outcomes, and findings with file and line."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from runner.display.text import absent

US_PER_S = 1e6


class Level(StrEnum):
    """How serious a finding is, in the words of SARIF."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


class Outcome(StrEnum):
    """What became of a case."""

    PASSED = "passed"
    FAILED = "failed"
    SKIPPED = "skipped"


RULES: Mapping[str, str] = {
    "race": "Two threads access an element without order, and at least one of them writes it.",
    "unwritten": "A thread reads an element that nothing has written.",
    "unwaited": "A thread reads an element of an asynchronous copy that was not waited for.",
    "outside": "An access lies outside its array.",
    "read_only": "A thread writes to an array that is declared as an input.",
    "misaligned": "The address of an access is not a multiple of its size.",
    "hazard": "The kernel violates a rule of CUDA.",
    "mismatch": "An output differs from the reference by more than rounding explains.",
    "unproven": "The check would have accepted a wrong result.",
    "implausible": "The time is shorter than the work allows.",
    "compile_error": "The compiler rejected the kernel.",
    "launch_error": "The launch was refused, or the device faulted.",
    "timeout": "A launch exceeded its time limit.",
    "out_of_memory": "The arrays do not fit into the device's memory.",
    "crashed": "The process that launched the kernel ended.",
    "not_faster": "The kernel is correct, but not faster than its baseline.",
    "broken": "The case passed in the baseline and fails now.",
    "slower": "The case is slower than in the baseline.",
    "costlier_line": "A line needs more sectors, wavefronts or divergent branches than in the baseline.",
    "undecided": "The comparison could not decide.",
}
"""What each rule id means. A finding of another kind has the rule of its own name."""


@dataclass(frozen=True)
class Place:
    """A line of a file. The path is relative to the repository, with slashes; line 0 stands for the whole file."""

    path: str
    line: int = 0

    def __str__(self) -> str:
        return f"{self.path}:{self.line}" if self.line else self.path


@dataclass(frozen=True)
class Finding:
    """Something that somebody should look at."""

    rule: str  # a key of `RULES`, or another kind of violation
    level: Level
    message: str
    places: tuple[Place, ...]  # the main one first; empty if no file is known
    cases: int = 1  # number of cases that show it


@dataclass(frozen=True)
class CaseResult:
    """A case and its outcome."""

    kernel: str
    name: str  # its parameters
    outcome: Outcome
    kind: str = ""  # of a failure, such as `mismatch`
    reason: str = ""  # why it failed or was skipped
    remark: str = ""  # on a case that passed, such as its speed-up
    us: float = 0.0  # the median time of a launch; 0 if it was not timed
    timed_as: str = ""  # the column of the time: `median_us` of a GPU, or `emulated_us` of the CPU device

    @property
    def seconds(self) -> float:
        """The median time of a launch."""
        return self.us / US_PER_S


@dataclass(frozen=True)
class Results:
    """The results of a command."""

    command: str  # `judge` or `compare`
    version: str  # of the runner
    cases: tuple[CaseResult, ...]
    findings: tuple[Finding, ...]
    markdown: str  # the summary for people

    def number(self, outcome: Outcome) -> int:
        """How many cases have this outcome."""
        return sum(case.outcome is outcome for case in self.cases)


def merged(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Merge findings with the same rule, level and places, since cases of several sizes show the same mistake.

    The first message stays. A finding without a place is merged with those of the same message only.
    """
    by_key: dict[tuple[Any, ...], Finding] = {}
    for each in findings:
        key = (each.rule, each.level, each.places, "" if each.places else each.message)
        first = by_key.get(key)
        by_key[key] = replace(first, cases=first.cases + each.cases) if first else each
    return tuple(by_key.values())


def time_of(row: Mapping[str, Any]) -> tuple[float, str]:
    """The time of a row in microseconds and its column; 0 and "" if it was not timed."""
    for name in ("median_us", "emulated_us"):
        if not absent(row.get(name)):
            return float(row[name]), name
    return 0.0, ""
