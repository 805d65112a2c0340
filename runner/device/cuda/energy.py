"""The energy of a launch, from NVML's counter of the GPU's total energy.

The counter belongs to the whole board and is updated every 100 ms (seen on an H200); the sensor behind it may
sample a part of that time (Yang, Adamek and Armour, Part-time power measurements, arXiv 2312.02741). So launches
follow each other without a gap for seconds, after others that bring the power to its steady state, and power is the
counter's difference between two of its updates, divided by the time between them (as Kernel Tuner's NVMLObserver does
with power). A launch's energy is that power times the duration of a launch in the same stretch, by CUDA events.
"""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable
from typing import Any

from runner.device import Energy
from runner.errors import LaunchTimeout

WARM_S = 1.0  # of launches before the stretch: the power's average settles, and the board gets as warm as it will be
IDLE_S = 2.0
QUEUE_S = 0.02  # of launches that are queued in one call, ...
MOST_LAUNCHES = 5000  # in a call
QUEUES = 3  # ... and how many calls are ahead of the GPU, which so never waits for the host
STUCK_S = 2.0  # without an update, the counter does not count
PAUSE_S = 0.001  # between two readings

Read = Callable[[], float | None]
Record = Callable[[], Any]  # records an event of CUDA, and gives it


def per_call(us: float) -> int:
    """How many launches to queue in one call."""
    return max(1, min(MOST_LAUNCHES, math.ceil(QUEUE_S * 1e6 / us))) if us > 0 else MOST_LAUNCHES


def idle_watts(read: Read) -> float | str:
    """The power while nothing runs, or why it is unknown."""
    found = _between_updates(read, IDLE_S, lambda: time.sleep(PAUSE_S))
    return found if isinstance(found, str) else found[0]


class Queue:
    """Calls of many launches each, kept ahead of the GPU; their events tell the time between two of them."""

    def __init__(self, record: Record, call: Callable[[], None], launches: int, time_limit: float) -> None:
        self._record, self._call, self._launches, self._limit = record, call, launches, time_limit
        self._waiting: deque[Any] = deque()
        self._since = time.monotonic()
        self.ended: list[Any] = []

    def fill(self) -> None:
        """Queue what is missing, and note what has ended."""
        while self._waiting and self._waiting[0].query():
            self.ended.append(self._waiting.popleft())
            self._since = time.monotonic()
        while len(self._waiting) < QUEUES:
            self._call()
            self._waiting.append(self._record())
        if time.monotonic() - self._since > self._limit * self._launches * QUEUES:
            raise LaunchTimeout(f"still running after {self._limit:g} s")
        time.sleep(PAUSE_S)

    def us_of_a_launch(self) -> float:
        """The duration of a launch, gaps included, from the first event that ended to the last."""
        first, last = self.ended[0], self.ended[-1]
        return float(first.time_till(last)) * 1000.0 / (self._launches * (len(self.ended) - 1))


def measure(read: Read, queue: Queue, seconds: float, idle_w: float) -> Energy | str:
    """Measure for at least so many seconds, and ten calls; or say why that cannot be."""
    started = time.monotonic()
    while time.monotonic() - started < WARM_S or not queue.ended:
        queue.fill()
    queue.ended = queue.ended[-1:]
    found = _between_updates(read, seconds, queue.fill, lambda: len(queue.ended) > 10)
    return found if isinstance(found, str) else Energy(*found, queue.us_of_a_launch(), idle_w)


def _between_updates(
    read: Read, seconds: float, meanwhile: Callable[[], None], enough: Callable[[], bool] = lambda: True
) -> tuple[float, float] | str:
    """Watts between two updates of the counter that are at least so far apart, and the seconds; or why not."""
    first = _update(read, meanwhile)
    if isinstance(first, str):
        return first
    while time.perf_counter() - first[0] < seconds or not enough():
        meanwhile()
    last = _update(read, meanwhile)
    if isinstance(last, str):
        return last
    return (last[1] - first[1]) / (last[0] - first[0]), last[0] - first[0]


def _update(read: Read, meanwhile: Callable[[], None]) -> tuple[float, float] | str:
    """When the counter changes next, and its joules then."""
    before, started = read(), time.perf_counter()
    while time.perf_counter() - started < STUCK_S:
        meanwhile()
        now = read()
        if now is None or before is None:
            return "NVML has no energy counter for this GPU (nvmlDeviceGetTotalEnergyConsumption)"
        if now != before:
            return time.perf_counter(), now
    return f"NVML's energy counter has not changed for {STUCK_S:g} s"
