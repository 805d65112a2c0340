"""What a table tells of timed launches: the median and its interval, and how rounds are summed up.

The headline is the median with a distribution-free 95 % interval from order statistics (Hahn and Meeker, Statistical
Intervals, 5.2).
"""

from __future__ import annotations

import dataclasses
import functools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Times = NDArray[np.float64]

# One line a timed launch, as kept in samples/: the round it belongs to, its time, how long the host took to queue it,
# and whether the GPU was throttled meanwhile.
SAMPLE = np.dtype([("round", np.int32), ("us", np.float64), ("enqueue_us", np.float64), ("throttled", np.bool_)])
Samples = NDArray[Any]


@dataclass(frozen=True)
class Summary:
    """What a table shows of a set of samples, in microseconds.

    `ci_low` and `ci_high` enclose the true median with 95 % confidence; with fewer than 6 samples no pair of them does,
    and they are the least and the largest.
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


def kept(samples: Samples) -> Samples:
    """The samples that count: those of a throttled GPU only where there are no others."""
    steady = samples[~samples["throttled"]]
    return steady if len(steady) else samples


def by_round(samples: Samples) -> list[Summary]:
    """Each round by itself, in the order of the rounds."""
    return [summarize(samples["us"][samples["round"] == r]) for r in np.unique(samples["round"])]


def of_rounds(samples: Samples) -> Summary:
    """All rounds together, each with the same weight however many samples it took: a noisy one takes more.

    The median is the mean of the rounds' medians, and its interval follows from theirs; the rest is of all samples.
    """
    rounds, pooled = by_round(samples), summarize(samples["us"])
    median = float(np.mean([s.median for s in rounds]))
    return dataclasses.replace(
        pooled,
        median=median,
        ci_low=median - float(np.linalg.norm([s.median - s.ci_low for s in rounds])) / len(rounds),
        ci_high=median + float(np.linalg.norm([s.ci_high - s.median for s in rounds])) / len(rounds),
    )


def spread_percent(medians: Times) -> float | None:
    """Standard deviation between the rounds' medians, in percent of their mean; `None` for a single round."""
    if len(medians) < 2 or not medians.mean():
        return None
    return 100.0 * float(medians.std(ddof=1) / medians.mean())


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

    The number of samples below the median is binomial with p = 1/2; the widest pair where no pair reaches 95 %.
    """
    # What lies further out than seven standard deviations does not count, so that large n cost no more than small ones.
    rank = max(0, math.floor(n / 2 - 3.5 * math.sqrt(n)))
    outside = 0.0
    while rank < (n - 1) // 2:
        outside += math.exp(math.lgamma(n + 1) - math.lgamma(rank + 1) - math.lgamma(n - rank + 1) - n * math.log(2.0))
        if 2 * outside > 0.05:
            break
        rank += 1
    low = max(rank - 1, 0)
    return low, n - 1 - low
