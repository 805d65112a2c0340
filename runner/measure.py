"""The timing protocol and its statistics. Which device it is does not matter here.

A sample is the time of one launch, between events, with the caches cold; raw samples are kept; the headline is the
median with a distribution-free 95 % interval from order statistics (Hahn and Meeker, Statistical Intervals, 5.2).
"""

from __future__ import annotations

import dataclasses
import functools
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from runner.device import Conditions, Timed
from runner.settings import Protocol

Times = NDArray[np.float64]

# One line a timed launch, as kept in samples/: the round it belongs to, its time, how long the host took to queue it,
# and whether the GPU was throttled meanwhile.
SAMPLE = np.dtype([("round", np.int32), ("us", np.float64), ("enqueue_us", np.float64), ("throttled", np.bool_)])
Samples = NDArray[Any]

# Samples asked of a device at a time: no more than 32, nor than fit into a second. Between two chunks the caller hears
# of progress, and a kernel that hangs is known from one that is slow.
CHUNK = 32
CHUNK_MS = 1000.0

MOST_TRIES = 3  # of a round that was throttled
PAUSE_S = 0.5  # before another try

PRECISE, MOST_SAMPLES, MOST_TIME = "precise", "max_samples", "max_time"

HOT_BATCHES = 10
HOT_BATCH_US = 1000.0  # that much work at least in a batch, or so many launches at most
HOT_LAUNCHES = 200


@dataclass(frozen=True)
class Round:
    """One case, measured once.

    Attributes:
        samples: Of type `SAMPLE`; those of throttled tries included.
        stop_reason: Why no more were taken: `precise`, `max_samples` or `max_time`.
        conditions: Of the GPU, right after the last try; `None` where nobody can say.
        tries: How often it was measured: more than once if the GPU was throttled.
        hot_us: Time of a launch in each of several batches, one launch behind the other; empty if not asked for.
    """

    samples: Samples
    stop_reason: str
    conditions: Conditions | None
    tries: int
    hot_us: Times


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


def measure(
    sample: Callable[[int], Timed],
    conditions: Callable[[], Conditions | None],
    protocol: Protocol,
    spent_ms: float,
    beat: Callable[[str], Any],
    pause: Callable[[float], None] = time.sleep,
) -> Round:
    """Measure one case for one round: warm up, take samples, and again if the GPU was throttled, a few times at most.

    Args:
        sample: Times that many launches.
        conditions: What the GPU is like now.
        protocol: How long, how many, how precise.
        spent_ms: Launching that was done already.
        beat: Told between chunks.
        pause: Waits that many seconds.
    """
    tried = []
    launch_ms = spent_ms
    for number in range(1, MOST_TRIES + 1):
        taken, stop_reason = collect(sample, protocol, spent_ms, launch_ms, beat)
        now = conditions()
        throttled = now is not None and now.throttled
        tried.append(_lines(taken, throttled=throttled))
        if not throttled or number == MOST_TRIES:
            break
        beat("waiting, as the GPU is throttled")
        pause(PAUSE_S)
        spent_ms, launch_ms = 0.0, float(np.median(taken.us)) / 1000.0
    return Round(np.concatenate(tried), stop_reason, now, number, np.empty(0))


def collect(
    sample: Callable[[int], Timed], protocol: Protocol, spent_ms: float, launch_ms: float, beat: Callable[[str], Any]
) -> tuple[Timed, str]:
    """Warm up, then take samples until they are enough.

    Enough is: `min_samples` and `min_time_ms`, and an interval of the median within `precision_percent`; or else
    `max_samples`, or `max_time_s` once there are `min_samples`.

    Args:
        sample: Times that many launches.
        protocol: How long, how many, how precise.
        spent_ms: Launching that was done already.
        launch_ms: What is known of a launch by now.
        beat: Told between chunks.

    Returns:
        The samples, and why there are no more of them.
    """
    at_once = _fitting(launch_ms)
    while spent_ms < protocol.warmup_ms:
        beat("warm-up")
        started = time.perf_counter()
        at_once = _fitting(float(np.median(sample(min(4, at_once)).us)) / 1000.0)
        spent_ms += (time.perf_counter() - started) * 1000.0
    chunks: list[Timed] = []
    count, wanted = 0, protocol.min_samples
    started = time.perf_counter()
    while True:
        beat("measuring")
        chunks.append(sample(min(at_once, wanted - count)))
        count += len(chunks[-1].us)
        if count < wanted:
            continue
        wanted = min(count + CHUNK, protocol.max_samples)
        seconds = time.perf_counter() - started
        precision = summarize(np.concatenate([c.us for c in chunks])).precision_percent
        if precision <= protocol.precision_percent and seconds * 1000.0 >= protocol.min_time_ms:
            reason = PRECISE
        elif count >= protocol.max_samples:
            reason = MOST_SAMPLES
        elif seconds >= protocol.max_time_s:
            reason = MOST_TIME
        else:
            continue
        return Timed(np.concatenate([c.us for c in chunks]), np.concatenate([c.enqueue_us for c in chunks])), reason


def hot(batch: Callable[[int], float], cold_us: float, beat: Callable[[str], Any]) -> Times:
    """Time launches one behind the other, with whatever the caches hold by then.

    Args:
        batch: Makes that many launches, and gives the microseconds that they took together.
        cold_us: A launch alone.
        beat: Told before each batch.

    Returns:
        Microseconds of a launch in each batch, shape (10,); a batch takes a millisecond or 200 launches.
    """
    launches = min(HOT_LAUNCHES, max(1, math.ceil(HOT_BATCH_US / cold_us))) if cold_us > 0 else HOT_LAUNCHES
    beat("warm-up")
    batch(launches)
    times = []
    for _ in range(HOT_BATCHES):
        beat("measuring")
        times.append(batch(launches) / launches)
    return np.array(times)


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


def _lines(taken: Timed, *, throttled: bool) -> Samples:
    lines = np.zeros(len(taken.us), SAMPLE)
    lines["us"], lines["enqueue_us"], lines["throttled"] = taken.us, taken.enqueue_us, throttled
    return lines


def _fitting(launch_ms: float) -> int:
    """How many launches make a chunk."""
    return CHUNK if launch_ms * CHUNK <= CHUNK_MS else max(1, int(CHUNK_MS / launch_ms))


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
