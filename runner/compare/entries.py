"""The one table that terminal, page and CSV are made from: an entry for each case and each run but the baseline."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from runner.compare.changes import ORDER, Change, Comparison
from runner.compare.decision import Decision
from runner.compare.loading import Row
from runner.report.text import absent

ONLY_BASE, ONLY_OTHER = "only in baseline", "only in run"
MEASURED = (
    *("base_status", "status", "base_median_us", "median_us", "change_percent", "low_percent", "high_percent"),
    *("threshold_percent", "word", "note", "same_binary"),
)


@dataclass(frozen=True)
class Entry:
    """What is said of a case in one run.

    Attributes:
        run: Which of the runs that are compared with the baseline, counted from 1.
        word: What is said of it.
        note: Why, or what to do about it.
        base: Its row in the baseline; `None` where that does not have it.
        other: Its row in the run; `None` where that does not have it.
        decision: How its times compare; only where both are right and timed.
        same_code: Whether both runs launched the same machine code in the same way.
        alone: Whether only one of the runs has it.
    """

    run: int
    word: str
    note: str
    base: Row | None
    other: Row | None
    decision: Decision | None = None
    same_code: bool = False

    @property
    def row(self) -> Row:
        """Its parameters, from the run that has it."""
        return self.other or self.base or {}

    @property
    def alone(self) -> bool:
        """Whether only one of the runs has it."""
        return self.base is None or self.other is None

    @property
    def percent(self) -> tuple[float, float, float] | None:
        """The change of the time and the ends of its interval, in percent: below zero the run is faster."""
        d = self.decision
        return (100 * (d.change - 1), 100 * (d.low - 1), 100 * (d.high - 1)) if d else None


def entries(comparisons: Sequence[Comparison]) -> list[Entry]:
    """Everything that is said, the worst first; what only one run has comes last."""
    changes = [(number, change) for number, found in enumerate(comparisons, 1) for change in found.changes]
    changes.sort(key=lambda item: (ORDER[item[1].word], -item[1].size))
    common = [_entry(number, change) for number, change in changes]
    lost = [Entry(n, ONLY_BASE, "", row, None) for n, found in enumerate(comparisons, 1) for row in found.only_base]
    new = [Entry(n, ONLY_OTHER, "", None, row) for n, found in enumerate(comparisons, 1) for row in found.only_other]
    return [*common, *lost, *new]


def _entry(number: int, change: Change) -> Entry:
    pair = change.pair
    return Entry(number, change.word.value, change.note, pair.base, pair.other, change.decision, change.same_code)


def median(row: Row | None) -> float | None:
    """A case's time in microseconds; a case that is not right has none."""
    return float(row["median_us"]) if row and row["status"] == "ok" and not absent(row["median_us"]) else None


def written(comparisons: Sequence[Comparison], found: Sequence[Entry]) -> str:
    """The table as CSV."""
    base = comparisons[0].base
    parameters = [name for name in base.parameters if name != "device"]
    parameters[parameters.index("size") + 1 : 0] = ["rows", "cols"]
    target = io.StringIO()
    lines = csv.writer(target, lineterminator="\n")
    lines.writerow(["case", "run", "baseline", *parameters, "device", *MEASURED])
    for entry in found:
        told = ["" if absent(entry.row[name]) else entry.row[name] for name in ("case", *parameters, "device")]
        names = [comparisons[entry.run - 1].other.name, base.name]
        lines.writerow([told[0], *names, *told[1:], *_measured(entry)])
    return target.getvalue()


def _measured(entry: Entry) -> list[Any]:
    percent = entry.percent or (None, None, None)
    threshold = 100 * entry.decision.threshold if entry.decision else None
    numbers = [median(entry.base), median(entry.other), *percent, threshold]
    states = [row["status"] if row else "" for row in (entry.base, entry.other)]
    same = "" if entry.alone else entry.same_code
    return [*states, *(_digits(number) for number in numbers), entry.word, entry.note, same]


def _digits(number: float | None) -> str:
    return "" if number is None or math.isnan(number) else f"{number:.6g}"
