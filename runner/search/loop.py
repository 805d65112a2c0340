"""The search loop: ask the sampler for points, have them measured in batches, tell it the values, until a limit.

With a fast compiler, a batch has two halves: one is compiled while the other is measured. So points are chosen with as
many values missing as in a whole batch, and the search needs as many cases, but less time. With a slow compiler the
halves would wait for it, one after the other.

A case may be measured at several levels, each with more samples. A new case starts at the lowest level. Asynchronous
successive halving (Li et al., A System for Massively Parallel Hyperparameter Tuning, MLSys 2020) promotes the best
third of a level as soon as it has one, except cases that are certainly slower than the best case. At the end the cases
that are tied with the best one go through the levels that they lack.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from runner.errors import UsageError
from runner.record.searched import Point, Trial, Values

MIN_IMPROVEMENT = 0.01  # relative, of the best
MAX_IMPOSSIBLE = 50_000  # points in consecutive batches without one that can run, after which a search ends
HALVING = 3  # eta of successive halving: the best 1/3 of a level is promoted, to 3 times the samples


class Sampler(Protocol):
    """Proposes points. The search tells it the values of every point that it proposed, and may tell it others.

    A point is told again when it was measured with more samples.
    """

    def ask(self, number: int, pending: Sequence[Point] = ()) -> list[Point]:
        """Propose up to `number` legal points that were not told yet; an empty list if there are none.

        `pending` points were proposed before, and their values are not known yet.
        """

    def tell(self, point: Point, values: Values | None) -> None:
        """Record the values of a point, lower is better; `None` if it failed."""


@dataclass(frozen=True)
class Budget:
    """The limits of a search; 0 means no limit."""

    max_cases: int = 0
    max_seconds: float = 0.0
    patience: int = 50  # the search ends after this many cases without an improvement of 1 %

    def __post_init__(self) -> None:
        for name in ("max_cases", "max_seconds", "patience"):
            if not 0 <= getattr(self, name) < math.inf:
                raise UsageError(f"hydra.sweeper.{name}={getattr(self, name)}: expected 0 for no limit, or more")
        if not (self.max_cases or self.max_seconds or self.patience):
            raise UsageError(
                "hydra.sweeper: max_cases, max_seconds and patience are all 0: the search would not end before every "
                "combination is measured"
            )


@dataclass
class Search:
    """The state of a search."""

    sampler: Sampler
    budget: Budget
    measure: Callable[[Mapping[Point, int]], Mapping[Point, Values | None]]  # values of points, given their levels
    known: Mapping[Point, Trial] = field(default_factory=dict)  # trials of an interrupted search
    possible: Callable[[Point], bool] = lambda _: True  # whether a point can run; others are not measured or counted
    ended: str = ""  # why the search ended
    halves: bool = False  # whether half a batch is compiled while the other half is measured
    prepare: Callable[[Sequence[Point]], None] = lambda _: None  # gets the points to compile during the next `measure`
    noted: Callable[[Sequence[Trial]], None] = lambda _: None  # called after each batch
    levels: int = 1
    tied: Callable[[Sequence[Trial]], Sequence[Trial]] = (
        lambda _: ()
    )  # selects the best trials and those tied with them
    _trials: dict[Point, Trial] = field(default_factory=dict)

    @property
    def trials(self) -> list[Trial]:
        """The trials, in the order of their first measurements."""
        return list(self._trials.values())

    def run(self, batch: int) -> None:
        """Search in batches of so many points until a limit is reached.

        A resumed search asks the sampler for the same points as before, and measures only those that are not known.
        """
        since = time.monotonic() - max((t.seconds for t in self.known.values()), default=0.0)
        number = -(-batch // 2) if self.halves else batch
        points = self._propose(number, ())
        while not self.ended:
            following = self._propose(number, points) if self.halves and batch > 1 else []
            self.prepare([p for p in following if p not in self.known])
            self._measure(dict.fromkeys(points, 0) | self._promoted(), since)
            self.ended = self.ended or self._reason(time.monotonic() - since)
            if not self.ended:
                points = following or self._propose(number, ())
        while unsure := [t for t in self.tied(self.trials) if t.level + 1 < self.levels]:
            self._measure({t.point: t.level + 1 for t in unsure[:batch]}, since)

    def _propose(self, number: int, pending: Sequence[Point]) -> list[Point]:
        """Ask for possible points that are not pending. Ends the search if none is left."""
        impossible = 0
        while True:
            left = self.budget.max_cases - len(self._trials) - len(pending) if self.budget.max_cases else number
            points = self.sampler.ask(min(number, left), pending) if left > 0 else []
            possible = [p for p in points if self.possible(p)]
            for point in points:
                if point not in possible:
                    self.sampler.tell(point, None)
            impossible += len(points)
            if impossible >= MAX_IMPOSSIBLE and not possible:
                self.ended = f"none of the last {impossible:,} combinations that were chosen can run"
            elif not points and not pending and not self.ended:
                self.ended = "every combination was measured"
            if possible or not points or self.ended:
                return possible

    def _measure(self, levels: Mapping[Point, int], since: float) -> None:
        """Measure points at their levels, unless they are known, and tell the sampler."""
        known = {p: t for p, level in levels.items() if (t := self.known.get(p)) and t.measured_at(level)}
        new = {p: level for p, level in levels.items() if p not in known}
        measured = self.measure(new) if new else {}
        for point, level in levels.items():
            values = known[point].values_at(level) if point in known else measured[point]
            if trial := self._trials.get(point):
                self._trials[point] = trial.with_level(level, values)
            else:
                seconds = known[point].seconds if point in known else time.monotonic() - since
                self._trials[point] = Trial(point, values, seconds, level)
            self.sampler.tell(point, values)
        self.noted(self.trials)

    def _promoted(self) -> dict[Point, int]:
        """Select the points to promote, each with its next level."""
        top, good = self.levels - 1, [t for t in self._trials.values() if t.values is not None]
        if not top or not good:
            return {}
        if all(t.level < top for t in good):  # later batches need a reference at the highest level
            return {front(good)[0].point: top}
        tied = {t.point for t in self.tied(good)}
        promoted: dict[Point, int] = {}
        for level in range(top):
            rung = sorted((v, t.point) for t in good if (v := t.values_at(level)) is not None)
            best = {point for _, point in rung[: len(rung) // HALVING]}
            promoted |= {t.point: level + 1 for t in good if t.level == level and t.point in best & tied}
        return promoted

    def _reason(self, seconds: float) -> str:
        """Why the search ends now; empty if it continues."""
        budget = self.budget
        if budget.max_cases and len(self._trials) >= budget.max_cases:
            return f"the budget of {budget.max_cases:,} case{'s' * (budget.max_cases != 1)} is spent"
        if budget.max_seconds and seconds >= budget.max_seconds:
            return f"the budget of {budget.max_seconds:g} s is spent"
        if budget.patience and len(self._trials) - self._improved_at() >= budget.patience:
            last = "case" if budget.patience == 1 else f"{budget.patience} cases"
            return f"the last {last} did not improve the best by {MIN_IMPROVEMENT:.0%}"
        return ""

    def _improved_at(self) -> int:
        """The number of cases at the last improvement of the best."""
        best: list[float] = []
        improved_at = 0
        for number, trial in enumerate(self._trials.values(), 1):
            if trial.values is None:
                continue
            best = best or [math.inf] * len(trial.values)
            for i, value in enumerate(trial.values):
                if value < best[i] - MIN_IMPROVEMENT * abs(best[i]) or not math.isfinite(best[i]):
                    best[i], improved_at = value, number
        return improved_at


def latest(known: Mapping[Point, Trial], trials: Sequence[Trial]) -> list[Trial]:
    """Merge the trials of an interrupted search with newer ones of the same or a higher level."""
    newer = {t.point: t for t in trials if t.point not in known or known[t.point].level <= t.level}
    return list({**known, **newer}.values())


def front(trials: Sequence[Trial]) -> list[Trial]:
    """Select the Pareto front, best first; for one objective, the best trial."""
    chosen: list[tuple[Trial, Values]] = []
    measured = [(trial, trial.values) for trial in trials if trial.values is not None]
    for trial, values in sorted(measured, key=lambda pair: (pair[1], pair[0].point)):
        if not any(all(a <= b for a, b in zip(other, values, strict=True)) for _, other in chosen):
            chosen.append((trial, values))
    return [trial for trial, _ in chosen]
