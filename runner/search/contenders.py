"""The contenders of a search: the best case, and those that cannot be told from it by what was measured so far."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from runner.metrics import Criterion, Metric
from runner.noise import DeviceNoise
from runner.search.space import Point
from runner.statistics import ASSUMED, Noise, Side, Spread, Summary, decide

NORMAL = 1.96  # standard errors on either side of a median's interval
BETWEEN_ROUNDS = Spread(ASSUMED, float("inf"))  # a look is a single round


def side(look: Summary) -> Side:
    """What `decide` compares of a case after a look."""
    error = (look.ci_high - look.ci_low) / (2.0 * NORMAL * look.median)
    return Side(look.median, 1, None, look.min, look.q1, look.q3, fresh=True, error=error)


def side_of(names: Mapping[str, Any], objective: Metric, factor: float) -> Side | None:
    """Likewise in terms of an objective.

    Args:
        names: The case's row, and its parameters.
        objective: What is minimized, or maximized.
        factor: By what the objective is multiplied, to take the drift out.

    Returns:
        `None` if the objective is not above 0.
    """
    cost = _cost(names, objective, factor)

    def value(name: str) -> float:
        return cost(float(names.get(name) or names["median_us"]))

    ends = (sorted((value(low), value(high))) for low, high in (("ci_low_us", "ci_high_us"), ("q1_us", "q3_us")))
    (low, high), (q1, q3) = ends
    found = Summary(0, value("median_us"), low, high, min(value("min_us"), q1), q1, q3)
    return side(found) if min(found.median, low, found.min) > 0 else None  # also if one of them is NaN


def noise_of(names: Mapping[str, Any], objective: Metric, factor: float, known: DeviceNoise) -> Noise:
    """The noise of an objective, from that of the device's times; the arguments are those of `side_of`."""
    us = float(names["median_us"])
    elasticity = _criterion(names, objective).elasticity(names, us)
    return known.at(us).of_metric(elasticity, _cost(names, objective, factor)(us) / us)


def contenders(sides: Mapping[Point, Side], known: Noise) -> list[Point]:
    """The points that cannot be told from the best one, which is the first; `known` is the noise of what they compare.

    The report's rule would call these tied or undecided. A few samples may have a short interval by chance, so a case
    is left out only if the rule for samples calls it slower, too: then they do not overlap.
    """
    best, *others = sorted(sides, key=lambda point: (sides[point].median_us, point))
    pairs = [(sides[best], sides[point]) for point in others]
    count = len(pairs) * (len(pairs) + 1) // 2
    found = {best}
    for spread in (BETWEEN_ROUNDS, None):
        noise = [replace(known, spread=spread)] * len(pairs)
        words = decide(pairs, noise, side_by_side=True, comparisons=count)
        found |= {point for point, d in zip(others, words, strict=True) if d.word != "slower"}
    return [point for point in (best, *others) if point in found]


def _criterion(names: Mapping[str, Any], objective: Metric) -> Criterion:
    return Criterion(objective.name, objective.better or "lower", of_kernel={str(names["kernel"]): objective})


def _cost(names: Mapping[str, Any], objective: Metric, factor: float) -> Callable[[float], float]:
    """What is compared, by the time of a launch: lower is better, also where a high objective is."""
    by = _criterion(names, objective)
    scale = 1.0 / factor if by.better == "higher" else factor
    return lambda us: scale * by.cost(names, us)
