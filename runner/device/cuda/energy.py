"""The energy of a launch, from NVML's counter of the GPU's total energy.

The counter covers the whole board and is updated every 100 ms (seen on an H200); its sensor may sample only a part of
that time (Yang, Adamek and Armour, Part-time power measurements, arXiv 2312.02741). So after a warm-up to steady-state
power, launches run back to back for seconds. Power is the counter's difference between two updates, divided by the time
between them (as in Kernel Tuner's NVMLObserver). A launch's energy is that power times its duration in the same
interval, from CUDA events.
"""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable
from typing import Any

from runner.device import Energy
from runner.errors import LaunchTimeout

WARM_S = 1.0  # seconds of launches before the measurement, in which power and temperature settle
IDLE_S = 2.0
QUEUE_S = 0.02  # seconds of launches queued in one call ...
MAX_LAUNCHES = 5000  # ... and their largest number
QUEUES = 3  # calls queued ahead, so that the GPU never waits for the host
STUCK_S = 2.0  # seconds without an update after which the counter counts as unsupported
PAUSE_S = 0.001  # seconds between two readings

Read = Callable[[], float | None]
Record = Callable[[], Any]  # records a CUDA event and returns it


def launches_per_call(us: float) -> int:
    """The number of launches of `us` microseconds to queue in one call."""
    return max(1, min(MAX_LAUNCHES, math.ceil(QUEUE_S * 1e6 / us))) if us > 0 else MAX_LAUNCHES


def idle_watts(read: Read) -> float | str:
    """The power of the idle GPU in watts, or why it is unknown."""
    power = _between_updates(read, IDLE_S, lambda: time.sleep(PAUSE_S))
    return power if isinstance(power, str) else power[0]


class Queue:
    """Keeps calls with many launches each queued ahead of the GPU; CUDA events between them give the times."""

    def __init__(self, record: Record, call: Callable[[], None], launches: int, time_limit: float) -> None:
        self._record, self._call, self._launches, self._limit = record, call, launches, time_limit
        self._waiting: deque[Any] = deque()
        self._last_end = time.monotonic()
        self.ended: list[Any] = []

    def fill(self) -> None:
        """Refill the queue, and record which calls have ended."""
        while self._waiting and self._waiting[0].query():
            self.ended.append(self._waiting.popleft())
            self._last_end = time.monotonic()
        while len(self._waiting) < QUEUES:
            self._call()
            self._waiting.append(self._record())
        if time.monotonic() - self._last_end > self._limit * self._launches * QUEUES:
            raise LaunchTimeout(f"still running after {self._limit:g} s")
        time.sleep(PAUSE_S)

    def launch_us(self) -> float:
        """The mean duration of a launch in microseconds, gaps included, from the first completed event to the last."""
        first, last = self.ended[0], self.ended[-1]
        return float(first.time_till(last)) * 1000.0 / (self._launches * (len(self.ended) - 1))


def measure(read: Read, queue: Queue, seconds: float, idle_w: float) -> Energy | str:
    """Measure for at least `seconds` and ten calls; a text says why that is impossible."""
    started = time.monotonic()
    while time.monotonic() - started < WARM_S or not queue.ended:
        queue.fill()
    queue.ended = queue.ended[-1:]
    power = _between_updates(read, seconds, queue.fill, lambda: len(queue.ended) > 10)
    return power if isinstance(power, str) else Energy(*power, queue.launch_us(), idle_w)


def _between_updates(
    read: Read, seconds: float, meanwhile: Callable[[], None], enough: Callable[[], bool] = lambda: True
) -> tuple[float, float] | str:
    """Power in watts and duration in seconds between two updates at least `seconds` apart; a text if none occurs."""
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
    """The time of the counter's next change, and its value in joules."""
    before, started = read(), time.perf_counter()
    while time.perf_counter() - started < STUCK_S:
        meanwhile()
        now = read()
        if now is None or before is None:
            return "NVML has no energy counter for this GPU (nvmlDeviceGetTotalEnergyConsumption)"
        if now != before:
            return time.perf_counter(), now
    return f"NVML's energy counter has not changed for {STUCK_S:g} s"
