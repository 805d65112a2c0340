"""The search itself: ask for points, have them measured in batches, tell the sampler, until the budget is spent."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from runner.errors import UsageError
from runner.search.space import Point

Values = tuple[float, ...]
"""What is minimized: one number, or two for a Pareto front."""

IMPROVED = 0.01  # a smaller improvement of the best does not count


class Sampler(Protocol):
    """Proposes points. It is told every point that it proposed, and may be told others."""

    def ask(self, number: int) -> list[Point]:
        """Propose up to so many legal points that were not told yet; none if there are no more."""

    def tell(self, point: Point, values: Values | None) -> None:
        """Learn what was measured at a point; `None` if it failed."""


@dataclass(frozen=True)
class Budget:
    """When a search ends; 0 is no limit."""

    max_cases: int = 0
    max_seconds: float = 0.0
    patience: int = 50  # cases without an improvement of 1 %

    def __post_init__(self) -> None:
        for name in ("max_cases", "max_seconds", "patience"):
            if not 0 <= getattr(self, name) < math.inf:
                raise UsageError(f"hydra.sweeper.{name}={getattr(self, name)}: expected 0 for no limit, or more")
        if not (self.max_cases or self.max_seconds or self.patience):
            raise UsageError(
                "hydra.sweeper: max_cases, max_seconds and patience are all 0, so the search would not end"
            )


@dataclass(frozen=True)
class Trial:
    """A point that was measured."""

    point: Point
    values: Values | None
    seconds: float  # since the search began, when it was told


@dataclass
class Search:
    """The state of a search."""

    sampler: Sampler
    budget: Budget
    measure: Callable[[Sequence[Point]], Mapping[Point, Values | None]]
    known: Mapping[Point, Trial] = field(default_factory=dict)  # of an interrupted search
    possible: Callable[[Point], bool] = lambda _: True  # a point that is not is neither measured nor counted
    trials: list[Trial] = field(default_factory=list)
    ended: str = ""  # why
    noted: Callable[[Sequence[Trial]], None] = lambda _: None  # called after each batch

    def run(self, batch: int) -> None:
        """Search, in batches of so many points.

        A resumed search asks as it did before, and has only those points measured that are not known.
        """
        since = time.monotonic() - max((t.seconds for t in self.known.values()), default=0.0)
        while not self.ended:
            number = min(batch, self.budget.max_cases - len(self.trials)) if self.budget.max_cases else batch
            wanted = self.sampler.ask(number)
            if not wanted:
                self.ended = "every combination was measured"
                return
            for point in (impossible := [p for p in wanted if not self.possible(p)]):
                self.sampler.tell(point, None)
            wanted = [p for p in wanted if p not in impossible]
            new = [p for p in wanted if p not in self.known]
            measured = self.measure(new) if new else {}
            for point in wanted:
                at = time.monotonic() - since
                trial = self.known[point] if point in self.known else Trial(point, measured[point], at)
                self.trials.append(trial)
                self.sampler.tell(point, trial.values)
            self.noted(self.trials)
            self.ended = self._reason(time.monotonic() - since)

    def _reason(self, seconds: float) -> str:
        """Why the search ends now; empty if it goes on."""
        budget = self.budget
        if budget.max_cases and len(self.trials) >= budget.max_cases:
            return f"the budget of {budget.max_cases:,} cases is spent"
        if budget.max_seconds and seconds >= budget.max_seconds:
            return f"the budget of {budget.max_seconds:g} s is spent"
        if budget.patience and len(self.trials) - self._improved_at() >= budget.patience:
            return f"the last {budget.patience} cases did not improve the best by {IMPROVED:.0%}"
        return ""

    def _improved_at(self) -> int:
        """After how many cases the best improved last."""
        best: list[float] = []
        at = 0
        for number, trial in enumerate(self.trials, 1):
            if trial.values is None:
                continue
            best = best or [math.inf] * len(trial.values)
            for i, value in enumerate(trial.values):
                if value < best[i] - IMPROVED * abs(best[i]) or not math.isfinite(best[i]):
                    best[i], at = value, number
        return at


def front(trials: Sequence[Trial]) -> list[Trial]:
    """The trials that no other is better than in everything: for one objective, the best one; best first."""
    found: list[Trial] = []
    for trial in sorted((t for t in trials if t.values is not None), key=lambda t: (t.values, t.point)):
        if not any(_dominates(other.values, trial.values) for other in found):
            found.append(trial)
    return found


def _dominates(one: Values | None, other: Values | None) -> bool:
    return one is not None and other is not None and all(a <= b for a, b in zip(one, other, strict=True))
