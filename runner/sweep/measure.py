"""The timing protocol: warm up, take samples until they are enough, again if the GPU was throttled.

Which device it is does not matter here. A sample is the time of one launch, between events, with the caches cold; all
of them are kept.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from runner.device import GpuState, Timed
from runner.settings import Protocol
from runner.statistics import SAMPLE, Samples, Times, summarize

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
    conditions: GpuState | None
    tries: int
    hot_us: Times


def measure(
    sample: Callable[[int], Timed],
    conditions: Callable[[], GpuState | None],
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


def _lines(taken: Timed, *, throttled: bool) -> Samples:
    lines = np.zeros(len(taken.us), SAMPLE)
    lines["us"], lines["enqueue_us"], lines["throttled"] = taken.us, taken.enqueue_us, throttled
    return lines


def _fitting(launch_ms: float) -> int:
    """How many launches make a chunk."""
    return CHUNK if launch_ms * CHUNK <= CHUNK_MS else max(1, int(CHUNK_MS / launch_ms))
