"""Compare two runs: one word per case, correctness before speed."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property

from runner.compare import counted
from runner.compare.runs import Compared, Pair, Row, join, varying
from runner.display.text import absent
from runner.kernel.metrics import Criterion
from runner.record import noise, samples
from runner.record.ranking import IDLE, TIME
from runner.record.runs import section
from runner.report.figures.figure import group
from runner.statistics import Decision, Noise, Side, decide, round_medians, unthrottled


class Word(StrEnum):
    """The words for a case, the most important first."""

    BROKEN = "BROKEN"
    SLOWER = "slower"
    INCONCLUSIVE = "inconclusive"
    FIXED = "fixed"
    FASTER = "faster"
    SAME = "same"
    FAILED = "failed in both"
    NOT_COMPARED = "not compared"
    ONLY_BASE = "only in baseline"
    ONLY_OTHER = "only in run"


WORDS = {"slower": Word.SLOWER, "faster": Word.FASTER, "tied": Word.SAME, "undecided": Word.INCONCLUSIVE}
"""The word of each decision on times."""

Medians = tuple[tuple[float, ...], ...]
"""The medians of a case's rounds in µs, by run; empty for a run whose samples cannot be read."""


@dataclass(frozen=True)
class Change:
    """How a case changed."""

    pair: Pair  # the row of a run that lacks the case is empty
    word: Word
    reason: str = ""
    advice: str = ""  # what to do about it
    decision: Decision | None = None  # on the times, if the case is correct and timed on a GPU in both runs
    alike: bool = False  # whether code, launch and environment are the same, so that only noise changes the time

    @property
    def row(self) -> Row:
        """The case's row in the compared run, or in the baseline if the run lacks it."""
        return self.pair.other or self.pair.base

    @property
    def note(self) -> str:
        """Reason and advice."""
        return ": ".join(filter(None, (self.reason, self.advice)))

    @property
    def size(self) -> float:
        """|log(ratio of the times)|; 0 without times."""
        return abs(math.log(self.decision.change)) if self.decision else 0.0

    @property
    def percent(self) -> tuple[float, float, float, float] | None:
        """Change, the ends of its interval, and the threshold, in percent. Negative: the run is faster."""
        d = self.decision
        return (100 * (d.change - 1), 100 * (d.low - 1), 100 * (d.high - 1), 100 * d.threshold) if d else None


@dataclass(frozen=True)
class Comparison:
    """A run compared with the baseline."""

    base: Compared
    other: Compared
    changes: list[Change]
    without_samples: int  # number of compared times without samples, whose rounds are unknown

    @cached_property
    def common(self) -> list[Change]:
        """The changes of the cases that both runs have."""
        return [change for change in self.changes if change.pair.base and change.pair.other]

    @cached_property
    def varying(self) -> list[str]:
        """The parameters that vary within or between the two runs."""
        return varying([*self.base.rows, *self.other.rows], self.base.parameters)

    @cached_property
    def counts(self) -> list[counted.Count]:
        """What was counted from addresses in both runs, and changed."""
        return counted.changes(self.base, self.other, [change.pair for change in self.common])

    @cached_property
    def counts_by_case(self) -> dict[str, list[counted.Count]]:
        """The same by the case's id."""
        return group(self.counts, lambda each: each.case)

    @property
    def is_counted(self) -> bool:
        """Whether counts say what changed: no case broke, and no time says more."""
        return bool(self.counts) and not any(c.decision or c.word is Word.BROKEN for c in self.common)

    def of(self, word: Word) -> list[Change]:
        """Select the changes with this word."""
        return [change for change in self.changes if change.word is word]


def compare(base: Compared, other: Compared, step: Callable[[str], None]) -> Comparison:
    """Compare a run with the baseline, case by case.

    Args:
        base: The baseline.
        other: The run.
        step: Called for each common case, with the run's name, to show progress.

    Raises:
        UsageError: The runs have no case in common.
    """
    joined = join(base, other)
    why = "one of the runs has several rows of this case: timed in several ways, or on several devices"
    changes = [Change(pair, Word.NOT_COMPARED, why) for pair in joined.doubtful]
    timed: list[tuple[Pair, Medians, Medians]] = []
    by = base.criterion  # for both runs: a changed definition of the metric must not count as a change
    now_by = replace(by, constants=other.criterion.constants)
    for pair in joined.common:
        step(other.name)
        if not _has_times(pair):
            changes.append(_by_correctness(base, other, pair))
        elif by.cost(pair.base, pair.base["median_us"]) > 0 and now_by.cost(pair.other, pair.other["median_us"]) > 0:
            timed.append((pair, _medians(pair.base), _medians(pair.other)))
        else:
            changes.append(Change(pair, Word.NOT_COMPARED, f"one of the runs has no {by.name} for this case"))
    # The devices whose surroundings are the same in both folders.
    unchanged = {k for k in base.kinds & other.kinds if base.surroundings(k) == other.surroundings(k) != {}}
    alike = [
        pair.same_code and "True" not in (pair.base["throttled"], pair.other["throttled"])
        and pair.base["device"] in unchanged
        for pair, *_ in timed
    ]  # fmt: skip
    decisions = decide(
        [(side(base, pair.base, was, by), side(other, pair.other, now, now_by)) for pair, was, now in timed],
        [known_noise(base, other, pair, by) for pair, *_ in timed],
        alike=alike,
    )
    without_samples = 0
    for (pair, *medians), decision, same in zip(timed, decisions, alike, strict=True):
        lacking = sum(not by_run or not all(by_run) for by_run in medians)
        without_samples += lacking
        changes.append(_by_times(pair, decision, alike=same, known=not lacking))
    changes += [Change(Pair(row, {}), Word.ONLY_BASE) for row in joined.only_base]
    changes += [Change(Pair({}, row), Word.ONLY_OTHER) for row in joined.only_other]
    return Comparison(base, other, changes, without_samples)


def side(run: Compared, row: Row, medians: Medians | None = None, by: Criterion = TIME) -> Side:
    """Convert a case's times in one run to what `decide` compares, by the criterion.

    `medians` are those of its rounds in µs, by run; by default they are read from the samples. Without samples, the
    table's median counts as one round.
    """
    medians = _medians(row) if medians is None else medians
    median = float(row["median_us"])
    times = (median if absent(row[name]) else float(row[name]) for name in ("min_us", "q1_us", "q3_us"))
    least, q1, q3 = sorted(by.cost(row, us) for us in times)
    timing = section(run.device(str(row["device"])), "timing")
    # With one round per run, each round has its own process.
    single = len(medians) > 1 and all(len(of_run) == 1 for of_run in medians)
    rounds = [by.cost(row, m) for of_run in medians for m in of_run] or [by.cost(row, median)]
    return Side.of(rounds, least, q1, q3, fresh=single or timing.get("fresh_process") is True)


def known_noise(base: Compared, other: Compared, pair: Pair, by: Criterion = TIME) -> Noise:
    """The noise of a pair's times, or of the criterion `by`: the larger one of the two devices."""
    kind, median = str(pair.base["device"]), float(pair.base["median_us"])
    noises = [noise.read_device_noise(run.device(kind)).at(median) for run in (base, other)]
    process = max((n.process for n in noises if n.process is not None), default=None)
    known = Noise(process=process, tick_us=max(n.tick_us for n in noises))
    if by.is_time:
        return known
    return known.of_metric(by.elasticity(pair.base, median), by.cost(pair.base, median) / median)


def _medians(row: Row) -> Medians:
    taken = [samples.read(*file) for file in row["measured"]]
    return tuple(() if times is None else tuple(round_medians(unthrottled(times)).tolist()) for times in taken)


def _has_times(pair: Pair) -> bool:
    """Whether a case is correct in both runs and has comparable times."""
    correct = all(row["status"] == "ok" and row["median_us"] > 0 for row in (pair.base, pair.other))
    return correct and pair.base["device"] == pair.other["device"]


def _by_times(pair: Pair, decision: Decision, *, alike: bool, known: bool) -> Change:
    """The change of a case with times in both runs. `known`: whether both have samples."""
    word = WORDS[decision.word]
    if word is Word.INCONCLUSIVE and not known:
        advice = "compare folders that have their samples/"
        return Change(pair, word, "samples of the case are missing", advice, decision, alike)
    same_code = pair.same_code and word in (Word.SLOWER, Word.FASTER)
    code = "the machine code is the same, so the kernel is not the cause" if same_code else ""
    reason = "; ".join(filter(None, (decision.note, code)))
    return Change(pair, word, reason, decision.advice, decision, alike)


def _by_correctness(base: Compared, other: Compared, pair: Pair) -> Change:
    match _state(pair.base), _state(pair.other):
        case "ok", "failed":
            return Change(pair, Word.BROKEN, _status(pair.other))
        case "failed", "ok":
            return Change(pair, Word.FIXED, f"it was {_status(pair.base)}")
        case "failed", "failed":
            was, now = _status(pair.base), _status(pair.other)
            return Change(pair, Word.FAILED, now if was == now else f"{now}; before, {was}")
        case "ok", "ok" if not any(row["median_us"] > 0 for row in (pair.base, pair.other)):
            return Change(pair, Word.SAME, "; ".join(_other_results(pair)))
        case "ok", "ok":
            crossed = pair.base["device"] != pair.other["device"]
            why = "a time of the CPU device says nothing about a GPU" if crossed else "one of the runs has no time"
            return Change(pair, Word.NOT_COMPARED, why)
        case _:
            rows = ((base, pair.base), (other, pair.other))
            why = "; ".join(f"in {run.name} {_status(row)}" for run, row in rows if row["status"] != "ok")
            return Change(pair, Word.NOT_COMPARED, why)


def _other_results(pair: Pair) -> list[str]:
    """Describe how two correct results differ; both match the reference within its tolerance."""
    cells = [(name, pair.base[name], pair.other[name]) for name in ("value", "undefined_reads")]
    return [f"{n} is {now}, was {was}" for n, was, now in cells if not absent(was) and not absent(now) and was != now]


def _state(row: Row) -> str:
    status = str(row["status"])
    return status if status == "ok" else "idle" if status in IDLE else "failed"


def _status(row: Row) -> str:
    status = str(row["status"]).replace("_", " ")
    return status if absent(row["reason"]) else f"{status}: {row['reason']}"
