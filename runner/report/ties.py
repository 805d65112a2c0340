"""Which cases cannot be told from the fastest: a ranking is only as good as its times.

The error of a median has three parts: the samples' own interval, the spread between the rounds of the sweep (pooled
over its cases, as each has few), and what differs between cases that are alike on this device, which
`python -m runner.calibrate` measures. A difference counts from 1 % on, or from where it exceeds twice its error if that
is more; what lies between this margin and twice of it is not called slower either, so that a second sweep does not
contradict the first.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from runner.report.folder import section
from runner.report.ratio import interval
from runner.report.text import absent

LEAST = 0.01  # a smaller difference is of no use to anyone
ASSUMED_PERCENT = 0.3  # between alike cases, or from one round to the next, where nobody measured it
MOST_PERCENT = 100.0  # of noise: more is no measurement
NORMAL = 1.96  # standard errors on either side of a median's interval
CERTAIN = 2.0  # margins from which on a case is called slower


@dataclass(frozen=True)
class Noise:
    """What is known of a device's times.

    Attributes:
        alike: Standard deviation between the medians of cases that are alike, in percent, by the median in
            microseconds; where nobody measured it, `ASSUMED_PERCENT` holds.
        round_percent: The same from one round to the next within the sweep, pooled.
        tick_us: The least step between two times.
        processes: Standard deviation from one process to the next, likewise by the median; empty where nobody measured
            it.
    """

    alike: tuple[tuple[float, float], ...] = ()
    round_percent: float = ASSUMED_PERCENT
    tick_us: float = 0.0
    processes: tuple[tuple[float, float], ...] = ()

    def alike_percent(self, median_us: float) -> float:
        """Of a case that takes as long: what was measured for the nearest time."""
        measured = _nearest(self.alike, median_us)
        return ASSUMED_PERCENT if measured is None else measured

    def process_percent(self, median_us: float) -> float | None:
        """Likewise from one process to the next; `None` where nobody measured it."""
        return _nearest(self.processes, median_us)


@dataclass(frozen=True)
class Ties:
    """The fastest of some cases, and those near it.

    Attributes:
        fastest: The case with the shortest median.
        level: Further ones that cannot be told from it, fastest first.
        unsure: Further ones that are slower by so little that it is not certain.
        margin: How much longer a time may be, as a fraction, and still be level: the largest of the pairs compared.
    """

    fastest: dict[str, Any]
    level: tuple[dict[str, Any], ...]
    unsure: tuple[dict[str, Any], ...]
    margin: float


def noise(rows: Iterable[dict[str, Any]], known: dict[str, Any]) -> Noise:
    """What the times of a sweep are worth.

    Args:
        rows: All timed cases of one device.
        known: Of the device, from environment.json.
    """
    # The variance of R rounds has R - 1 degrees of freedom.
    parts = [
        (row["rounds"] - 1, row["round_spread_percent"]) for row in rows if not absent(row["round_spread_percent"])
    ]
    freedom = sum(n for n, _ in parts)
    tick = known.get("event_tick_us")
    return Noise(
        alike=_points(section(known, "noise").get("points"), "alike_percent"),
        processes=_points(section(known, "noise").get("points"), "round_percent"),
        round_percent=math.sqrt(sum(n * s**2 for n, s in parts) / freedom) if freedom else ASSUMED_PERCENT,
        tick_us=float(tick) if isinstance(tick, int | float) else 0.0,
    )


def _nearest(points: tuple[tuple[float, float], ...], median_us: float) -> float | None:
    return min(points, key=lambda point: abs(math.log(point[0] / median_us)))[1] if points else None


def _points(found: Any, name: str) -> tuple[tuple[float, float], ...]:
    """Times and one kind of their noise, from a file that anyone may have edited."""
    try:
        points = tuple((float(p["median_us"]), float(p[name])) for p in found)
    except (TypeError, KeyError, ValueError, OverflowError):
        return ()
    return tuple(p for p in points if 0 < p[0] < math.inf and 0 <= p[1] <= MOST_PERCENT)


def ties(rows: Iterable[dict[str, Any]], found: Noise) -> Ties:
    """The fastest of some cases that may be compared, and what cannot be told from it.

    Args:
        rows: At least one, all of them timed.
        found: What their times are worth.
    """
    best, *others = sorted(rows, key=lambda row: (row["median_us"], row["row"]))
    margins = [margin(best, row, found) for row in others]
    beyond = [(math.log(row["median_us"] / best["median_us"]) / m, row) for row, m in zip(others, margins, strict=True)]
    level = tuple(row for times, row in beyond if times <= 1.0)
    widest = max((m for (times, _), m in zip(beyond, margins, strict=True) if times <= 1.0), default=LEAST)
    unsure = tuple(row for times, row in beyond if 1.0 < times <= CERTAIN)
    return Ties(best, level, unsure, widest)


def margin(one: dict[str, Any], other: dict[str, Any], found: Noise) -> float:
    """The difference of two medians, as a fraction, up to which they cannot be told apart."""
    error = math.hypot(_error(one, found), _error(other, found))
    return max(LEAST, 2.0 * (error + found.tick_us / float(one["median_us"])))


def _error(row: dict[str, Any], found: Noise) -> float:
    """Standard error of the logarithm of a median."""
    low, high = interval(row)
    own = (high - low) / (2.0 * NORMAL * row["median_us"])
    rounds = 1 if absent(row["rounds"]) else int(row["rounds"])
    between = found.round_percent / 100.0 / math.sqrt(rounds)
    return math.hypot(own, between, found.alike_percent(row["median_us"]) / 100.0)
