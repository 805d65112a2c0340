"""The contenders of a search: the best case, and those that cannot be told from it by what was measured so far."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from runner.metrics import Criterion, Metric
from runner.search.space import Point
from runner.statistics import Noise, Side, decide

_TIMES = ("median_us", "min_us", "q1_us", "q3_us")


def side_of(names: Mapping[str, Any], objective: Metric, scale: float) -> Side | None:
    """What `decide` compares of a case: its samples in terms of the objective, times `scale`.

    Args:
        names: The case's row, and its parameters.
        objective: What is minimized, or maximized.
        scale: What takes the drift out.

    Returns:
        `None` if the objective is not above 0.
    """
    better = objective.better or "lower"
    cost = Criterion(objective.name, better, of_kernel={str(names["kernel"]): objective}).cost
    values = [cost(names, float(us)) * scale for us in (names.get(name) or names["median_us"] for name in _TIMES)]
    if not all(value > 0 for value in values):  # also of NaN
        return None
    return Side.of(values[:1], *sorted(values[1:]), fresh=True)


def contenders(sides: Mapping[Point, Side], noise: Noise) -> list[Point]:
    """The points that are not certainly slower than the best one, which is the first.

    The rule is that of reports and comparisons for times of a single round: a case is slower if its samples do not
    overlap those of the best case, and its median is longer by more than the noise.
    """
    best, *others = sorted(sides, key=lambda point: (sides[point].median_us, point))
    found = decide([(sides[best], sides[point]) for point in others], [noise] * len(others))
    return [best, *(point for point, d in zip(others, found, strict=True) if d.word != "slower")]
