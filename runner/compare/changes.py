"""What became of each case from one run to another: one word a case, correctness before speed."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from runner.compare import sides
from runner.compare.decision import Decision, decide
from runner.compare.joining import Pair, join
from runner.compare.loading import Row, Run, varying
from runner.report.text import absent
from runner.report.verdict import IDLE


class Word(StrEnum):
    """What is said of a case, in the order in which a reader should hear of it."""

    BROKEN = "BROKEN"
    SLOWER = "slower"
    INCONCLUSIVE = "inconclusive"
    FIXED = "fixed"
    FASTER = "faster"
    SAME = "same"
    FAILED = "failed in both"
    NOT_COMPARED = "not compared"


ORDER = {word: place for place, word in enumerate(Word)}

SAME_CODE = "the machine code is the same, so the kernel is not the cause"
NO_SAMPLES = "its rounds are not known: compare folders that have their samples/"
DOUBTFUL = "measured in several ways in one of the runs, or on several devices: which of its rows is meant is not clear"
NO_SPEED = "no speed: an emulated time says nothing about a GPU"


@dataclass(frozen=True)
class Change:
    """What became of a case.

    Attributes:
        pair: The case's rows in both runs.
        word: What is said of it.
        note: Why, or what to do about it; may be empty.
        decision: How the times compare; only of a case that is right and timed in both.
        same_code: Whether both runs launched the same machine code in the same way.
        alike: Whether nothing else differs either, so that the times differ by noise alone.
    """

    pair: Pair
    word: Word
    note: str
    decision: Decision | None = None
    same_code: bool = False
    alike: bool = False

    @property
    def row(self) -> Row:
        """The case's row in the run that is compared with the baseline."""
        return self.pair.other

    @property
    def size(self) -> float:
        """How large the change of the time is, in either direction."""
        return abs(math.log(self.decision.change)) if self.decision else 0.0


@dataclass(frozen=True)
class Comparison:
    """One run against the baseline.

    Attributes:
        base: The baseline.
        other: The run.
        changes: What became of each common case.
        only_base: Cases that only the baseline has.
        only_other: Cases that only the run has.
        without_samples: How many of the compared times have no samples, so that their rounds are not known.
    """

    base: Run
    other: Run
    changes: list[Change]
    only_base: list[Row]
    only_other: list[Row]
    without_samples: int

    @property
    def varying(self) -> list[str]:
        """The parameters that tell all cases of the two runs apart."""
        return varying([*self.base.rows, *self.other.rows], self.base.parameters)

    def of(self, word: Word) -> list[Change]:
        """The cases of which this is said."""
        return [change for change in self.changes if change.word is word]


def compare(base: Run, other: Run, step: Callable[[], None]) -> Comparison:
    """Say what became of each case.

    Args:
        base: What it was before.
        other: What it is now.
        step: Called whenever a case is done with.

    Raises:
        UsageError: if the runs have no case in common.
    """
    joined = join(base, other)
    found, timed, times, known, lacking = [], [], [], [], 0
    for pair in joined.common:
        step()
        if not _has_times(pair):
            found.append(_untimed(base, other, pair))
            continue
        medians = [sides.rounds(row) for row in (pair.base, pair.other)]
        lacks = sum(not all(of_side) or not of_side for of_side in medians)
        lacking += lacks
        known.append(not lacks)
        timed.append(pair)
        times.append((sides.side(base, pair.base, medians[0]), sides.side(other, pair.other, medians[1])))
    noise = [sides.noise(base, other, pair) for pair in timed]
    alike = [sides.alike(base, other, pair) for pair in timed]
    decisions = decide(times, noise, alike)
    found += [Change(pair, Word.NOT_COMPARED, DOUBTFUL) for pair in joined.doubtful]
    found += [_timed(p, d, alike=a, known=k) for p, d, a, k in zip(timed, decisions, alike, known, strict=True)]
    return Comparison(base, other, found, joined.only_base, joined.only_other, lacking)


def _has_times(pair: Pair) -> bool:
    """Whether a case is right in both runs and has times that may be compared."""
    right = all(row["status"] == "ok" and row["median_us"] > 0 for row in (pair.base, pair.other))
    return right and pair.base["device"] == pair.other["device"]


def _timed(pair: Pair, decision: Decision, *, alike: bool, known: bool) -> Change:
    """What is said of a case with times in both runs; `known`: whether its rounds are."""
    word, same = Word(decision.word), sides.same_code(pair)
    lost = word is Word.INCONCLUSIVE and not known
    notes = [NO_SAMPLES if lost else decision.note, SAME_CODE if same and word in (Word.SLOWER, Word.FASTER) else ""]
    return Change(pair, word, "; ".join(note for note in notes if note), decision, same, alike)


def _untimed(base: Run, other: Run, pair: Pair) -> Change:
    was, now = (_state(row) for row in (pair.base, pair.other))
    same = sides.same_code(pair)
    match was, now:
        case "ok", "failed":
            return Change(pair, Word.BROKEN, _told(pair.other), same_code=same)
        case "failed", "ok":
            return Change(pair, Word.FIXED, f"it was {_told(pair.base)}", same_code=same)
        case "failed", "failed":
            as_before = _told(pair.base) == _told(pair.other)
            note = _told(pair.other) if as_before else f"{_told(pair.other)}; before, {_told(pair.base)}"
            return Change(pair, Word.FAILED, note, same_code=same)
        case "ok", "ok":
            crossed = pair.base["device"] != pair.other["device"]
            note = NO_SPEED if crossed else "no time in one of them"
        case _:
            rows = ((base, pair.base), (other, pair.other))
            note = "; ".join(f"in {run.name} {_told(row)}" for run, row in rows if row["status"] != "ok")
    return Change(pair, Word.NOT_COMPARED, note, same_code=same)


def _state(row: Row) -> str:
    status = str(row["status"])
    return status if status == "ok" else "idle" if status in IDLE else "failed"


def _told(row: Row) -> str:
    status = str(row["status"]).replace("_", " ")
    return status if absent(row["reason"]) else f"{status}: {row['reason']}"
