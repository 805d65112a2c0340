"""The timing protocol: warm up, take samples until they suffice, and repeat if the GPU was throttled.

The protocol is the same for every device. A sample is the time of one launch, between events, with cold caches. All
samples are kept.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from runner.device import GpuState, Timed
from runner.jobs.settings import Protocol
from runner.statistics import SAMPLE, Samples, Times, summarize

# Samples per request: at most 32, and at most one second's worth. The heartbeat between two requests distinguishes a
# slow kernel from one that hangs.
CHUNK = 32
CHUNK_MS = 1000.0

MAX_TRIES = 3  # tries of a throttled round
PAUSE_S = 0.5  # before the next try

PRECISE, MAX_SAMPLES, MAX_TIME = "precise", "max_samples", "max_time"

HOT_BATCHES = 10
HOT_BATCH_US = 1000.0  # least work in a batch ...
HOT_LAUNCHES = 200  # ... unless that takes more launches


@dataclass(frozen=True)
class Round:
    """One case, measured once."""

    samples: Samples  # including those of throttled tries
    stop_reason: str  # why sampling stopped: `precise`, `max_samples` or `max_time`
    conditions: GpuState | None  # right after the last try; `None` if unknown
    tries: int  # more than one if the GPU was throttled
    hot_us: Times  # time per launch of each back-to-back batch, shape (batches,); empty without the hot mode
    checked: int = 0  # launches whose outputs were compared: the timed ones and those after them
    input_sets: int = 1  # sets of inputs between which the launches alternated


def measure(
    sample: Callable[[int], Timed],
    conditions: Callable[[], GpuState | None],
    protocol: Protocol,
    spent_ms: float,
    heartbeat: Callable[[str], Any],
    pause: Callable[[float], None] = time.sleep,
) -> Round:
    """Measure one case for one round, up to three times if the GPU is throttled.

    Args:
        sample: Times the given number of launches.
        conditions: Reads the GPU's state; `None` if unknown.
        protocol: The protocol.
        spent_ms: Time of the launches so far, in milliseconds, which counts as warm-up.
        heartbeat: Called between requests with the name of the step.
        pause: Waits for the given number of seconds.

    Returns:
        The round, with the samples of all tries and without hot batches.
    """
    tried = []
    launch_ms = spent_ms
    for number in range(1, MAX_TRIES + 1):
        taken, stop_reason = collect(sample, protocol, spent_ms, launch_ms, heartbeat)
        now = conditions()
        throttled = now is not None and now.throttled
        lines = np.zeros(len(taken.us), SAMPLE)
        lines["us"], lines["enqueue_us"], lines["throttled"] = taken.us, taken.enqueue_us, throttled
        tried.append(lines)
        if not throttled or number == MAX_TRIES:
            break
        heartbeat("waiting, as the GPU is throttled")
        pause(PAUSE_S)
        spent_ms, launch_ms = 0.0, float(np.median(taken.us)) / 1000.0
    return Round(np.concatenate(tried), stop_reason, now, number, np.empty(0))


def from_first_launch(spent_ms: float) -> Round:
    """A round whose only sample is the time of the launch that was checked first, in milliseconds."""
    lines = np.zeros(1, SAMPLE)
    lines["us"] = spent_ms * 1000.0
    return Round(lines, PRECISE, None, 1, np.empty(0))


def collect(
    sample: Callable[[int], Timed],
    protocol: Protocol,
    spent_ms: float,
    launch_ms: float,
    heartbeat: Callable[[str], Any],
) -> tuple[Timed, str]:
    """Warm up, then take samples until they suffice.

    Sampling stops after `min_samples` and `min_time_ms` if the interval of the median is within `precision_percent`,
    otherwise after `max_samples`, or after `max_time_s` once there are `min_samples`.

    Args:
        sample: As for `measure`.
        protocol: As for `measure`.
        spent_ms: As for `measure`.
        launch_ms: Estimated time of a launch in milliseconds.
        heartbeat: As for `measure`.

    Returns:
        The samples, and why sampling stopped.
    """
    at_once = _chunk_size(launch_ms)
    while spent_ms < protocol.warmup_ms:
        heartbeat("warm-up")
        started = time.perf_counter()
        at_once = _chunk_size(float(np.median(sample(min(4, at_once)).us)) / 1000.0)
        spent_ms += (time.perf_counter() - started) * 1000.0
    chunks: list[Timed] = []
    count, wanted = 0, protocol.min_samples
    started = time.perf_counter()
    while True:
        heartbeat("measuring")
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
            reason = MAX_SAMPLES
        elif seconds >= protocol.max_time_s:
            reason = MAX_TIME
        else:
            continue
        return Timed(np.concatenate([c.us for c in chunks]), np.concatenate([c.enqueue_us for c in chunks])), reason


def measure_hot(batch: Callable[[int], float], cold_us: float, heartbeat: Callable[[str], Any]) -> Times:
    """Time back-to-back launches with warm caches. A batch takes a millisecond or 200 launches.

    Args:
        batch: Makes the given number of launches and returns their total time in microseconds.
        cold_us: Time of a cold launch in microseconds.
        heartbeat: Called between batches with the name of the step.

    Returns:
        Microseconds per launch of each batch, shape (10,).
    """
    launches = min(HOT_LAUNCHES, max(1, math.ceil(HOT_BATCH_US / cold_us))) if cold_us > 0 else HOT_LAUNCHES
    heartbeat("warm-up")
    batch(launches)
    times = []
    for _ in range(HOT_BATCHES):
        heartbeat("measuring")
        times.append(batch(launches) / launches)
    return np.array(times)


def _chunk_size(launch_ms: float) -> int:
    return CHUNK if launch_ms * CHUNK <= CHUNK_MS else max(1, int(CHUNK_MS / launch_ms))
