"""The contenders of a search: the best case, and the cases that are tied with it by the measurements so far."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from runner.kernel.metrics import Criterion, Metric
from runner.record.noise import DeviceNoise
from runner.record.searched import Point
from runner.statistics import ASSUMED, NORMAL, Noise, Side, Spread, Summary, decide

BETWEEN_ROUNDS = Spread(ASSUMED, float("inf"))  # assumed, since a look is a single round


def side(look: Summary) -> Side:
    """Convert the summary of a look to what `decide` compares."""
    error = (look.ci_high - look.ci_low) / (2.0 * NORMAL * look.median)
    return Side(look.median, 1, None, look.min, look.q1, look.q3, fresh=True, error=error)


@dataclass(frozen=True)
class Candidate:
    """A case's objective, and how the objective depends on the case's time."""

    side: Side  # of the objective
    us: float  # median time
    elasticity: float  # d log(objective) / d log(time)

    def noise(self, device_noise: DeviceNoise) -> Noise:
        """Convert the noise of the device's times to the noise of the objective."""
        return device_noise.at(self.us).of_metric(self.elasticity, self.side.median_us / self.us)


def candidate(names: Mapping[str, Any], objective: Metric, factor: float) -> Candidate | None:
    """Compute what `contenders` needs of a case; `None` if the objective is not above 0.

    `names` are the case's row and parameters. `factor` multiplies the objective, to remove the drift.
    """
    by = Criterion(objective.name, objective.better or "lower", by_kernel={str(names["kernel"]): objective})
    # A rate is converted to a cost, for which lower is better.
    scale = 1.0 / factor if by.better == "higher" else factor
    us = float(names["median_us"])

    def value(name: str) -> float:
        return scale * by.cost(names, float(names.get(name) or us))

    low, high = sorted((value("ci_low_us"), value("ci_high_us")))
    q1, q3 = sorted((value("q1_us"), value("q3_us")))
    summary = Summary(0, value("median_us"), low, high, min(value("min_us"), q1), q1, q3)
    if not min(summary.median, low, summary.min) > 0:  # also if one of them is NaN
        return None
    return Candidate(side(summary), us, by.elasticity(names, us))


def contenders(sides: Mapping[Point, Side], noise: Noise) -> list[Point]:
    """Select the best point, which is the first, and the points that the report would call tied or undecided.

    A few samples may have a short interval by chance, so a case is left out only if the rule for samples calls it
    slower, too, which requires that the intervals do not overlap.
    """
    best, *others = sorted(sides, key=lambda point: (sides[point].median_us, point))
    pairs = [(sides[best], sides[point]) for point in others]
    count = len(pairs) * (len(pairs) + 1) // 2
    chosen = {best}
    for spread in (BETWEEN_ROUNDS, None):
        noises = [replace(noise, spread=spread)] * len(pairs)
        decisions = decide(pairs, noises, side_by_side=True, comparisons=count)
        chosen |= {point for point, d in zip(others, decisions, strict=True) if d.word != "slower"}
    return [point for point in (best, *others) if point in chosen]
