"""The timing protocol and its statistics. Which device it is does not matter here.

A sample is the time of one launch, between events, with the caches cold; raw samples are kept; the headline is the
median with a distribution-free 95 % interval from order statistics (Hahn and Meeker, Statistical Intervals, 5.2).
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Samples = NDArray[np.float64]

# Samples asked of a device at a time: no more than 32, nor than fit into a second. Between two chunks the caller hears
# of progress, and a kernel that hangs is known from one that is slow.
CHUNK = 32
CHUNK_MS = 1000.0


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


def collect(
    sample: Callable[[int], Samples], count: int, warmup_ms: float, spent_ms: float, beat: Callable[[str], Any]
) -> Samples:
    """Warm up, then take samples.

    Args:
        sample: Times that many launches, in microseconds each.
        count: Samples to keep.
        warmup_ms: Launching before the first sample.
        spent_ms: Launching that was done already.
        beat: Told between chunks.
    """
    at_once = _fitting(spent_ms)
    while spent_ms < warmup_ms:
        beat("warm-up")
        started = time.perf_counter()
        at_once = _fitting(float(np.median(sample(min(4, at_once)))) / 1000.0)
        spent_ms += (time.perf_counter() - started) * 1000.0
    chunks = []
    while count > 0:
        beat("measuring")
        chunks.append(sample(min(at_once, count)))
        count -= len(chunks[-1])
    return np.concatenate(chunks)


def _fitting(launch_ms: float) -> int:
    """How many launches make a chunk."""
    return CHUNK if launch_ms * CHUNK <= CHUNK_MS else max(1, int(CHUNK_MS / launch_ms))


def summarize(samples: Samples) -> Summary:
    """Median, its interval, quartiles and minimum.

    Args:
        samples: Microseconds, shape (n,), n at least 1.
    """
    ordered = np.sort(samples)
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


def median_ranks(n: int) -> tuple[int, int]:
    """The closest pair of order statistics, counted from 0, that encloses the median with at least 95 % confidence.

    The number of samples below the median is binomial with p = 1/2; the widest pair where no pair reaches 95 %.
    """
    outside, rank = 0.0, 0
    while rank < (n - 1) // 2:
        outside += math.comb(n, rank) / 2.0**n
        if 2 * outside > 0.05:
            break
        rank += 1
    low = max(rank - 1, 0)
    return low, n - 1 - low
