"""Summaries of samples: medians, intervals, and the spread between rounds.

The headline is the median with a distribution-free 95 % interval from order statistics (Hahn and Meeker, Statistical
Intervals, 5.2).
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Times = NDArray[np.float64]

# One timed launch, as stored in samples/: its round, its time, how long the host took to queue it, and whether the GPU
# was throttled.
SAMPLE = np.dtype([("round", np.int32), ("us", np.float64), ("enqueue_us", np.float64), ("throttled", np.bool_)])
Samples = NDArray[Any]


@dataclass(frozen=True)
class Summary:
    """A summary of samples, in microseconds.

    `ci_low` and `ci_high` enclose the true median with 95 % confidence. With fewer than 6 samples no interval reaches
    95 %, and they are the minimum and the maximum.
    """

    samples: int
    median: float
    ci_low: float
    ci_high: float
    min: float
    q1: float
    q3: float

    @property
    def precision_percent(self) -> float:
        """Half the interval, in percent of the median."""
        return 50.0 * (self.ci_high - self.ci_low) / self.median if self.median else 0.0


@dataclass(frozen=True)
class Spread:
    """A standard deviation of logarithms, and its degrees of freedom."""

    deviation: float
    freedom: float


def unthrottled(samples: Samples) -> Samples:
    """The samples without those of a throttled GPU; all samples if the GPU was always throttled."""
    steady = samples[~samples["throttled"]]
    return steady if len(steady) else samples


def round_medians(samples: Samples) -> Times:
    """The median of each round, in the order of the rounds."""
    return np.array([np.median(us) for us in _by_round(samples)], np.float64)


def of_rounds(samples: Samples) -> Summary:
    """Summarize all rounds together. Each round has the same weight, because a noisy round takes more samples.

    The median is the mean of the rounds' medians, and its interval follows from theirs. The other numbers are those of
    all samples.
    """
    rounds, together = [summarize(us) for us in _by_round(samples)], summarize(samples["us"])
    median = float(np.mean([s.median for s in rounds]))
    return dataclasses.replace(
        together,
        median=median,
        ci_low=median - float(np.linalg.norm([s.median - s.ci_low for s in rounds])) / len(rounds),
        ci_high=median + float(np.linalg.norm([s.ci_high - s.median for s in rounds])) / len(rounds),
    )


def summarize(times: Times) -> Summary:
    """Median, its interval, quartiles and minimum.

    Args:
        times: Microseconds, shape (n,), n at least 1.
    """
    ordered = np.sort(times)
    low, high = median_ranks(len(ordered))
    q1, median, q3 = np.percentile(ordered, [25, 50, 75])
    return Summary(
        samples=len(ordered),
        median=float(median),
        ci_low=float(ordered[low]),
        ci_high=float(ordered[high]),
        min=float(ordered[0]),
        q1=float(q1),
        q3=float(q3),
    )


@functools.lru_cache(maxsize=4096)
def median_ranks(n: int) -> tuple[int, int]:
    """The closest pair of order statistics, counted from 0, that encloses the median with at least 95 % confidence.

    The number of samples below the median is binomial with p = 1/2. If no pair reaches 95 %, the widest is returned.
    """
    # Start seven standard deviations out, where the probability is negligible, so that large n cost no more than small.
    rank = max(0, math.floor(n / 2 - 3.5 * math.sqrt(n)))
    outside = 0.0
    while rank < (n - 1) // 2:
        outside += math.exp(math.lgamma(n + 1) - math.lgamma(rank + 1) - math.lgamma(n - rank + 1) - n * math.log(2.0))
        if 2 * outside > 0.05:
            break
        rank += 1
    low = max(rank - 1, 0)
    return low, n - 1 - low


def spread_percent(medians: Times) -> float | None:
    """Standard deviation between the rounds' medians, in percent of their mean; `None` for a single round."""
    if len(medians) < 2 or not medians.mean():
        return None
    return 100.0 * float(medians.std(ddof=1) / medians.mean())


def spread_of(times: Sequence[float] | Times) -> Spread | None:
    """The spread of some times; `None` for a single one."""
    logs = [math.log(time) for time in times]
    if len(logs) < 2:
        return None
    mean, freedom = math.fsum(logs) / len(logs), len(logs) - 1
    return Spread(math.sqrt(math.fsum((x - mean) ** 2 for x in logs) / freedom), freedom)


def pooled(spreads: Iterable[Spread | None]) -> Spread | None:
    """The common spread of several groups of times, each about its own mean; `None` if no group has a spread."""
    known = [spread for spread in spreads if spread and spread.freedom]
    freedom = math.fsum(spread.freedom for spread in known)
    if not freedom:
        return None
    return Spread(math.sqrt(math.fsum(s.freedom * s.deviation**2 for s in known) / freedom), freedom)


def geometric_mean(ratios: Iterable[float]) -> float:
    """The geometric mean of some positive numbers, at least one."""
    logs = [math.log(ratio) for ratio in ratios]
    return math.exp(math.fsum(logs) / len(logs))


def _by_round(samples: Samples) -> list[Times]:
    return [samples["us"][samples["round"] == n] for n in np.unique(samples["round"])]
