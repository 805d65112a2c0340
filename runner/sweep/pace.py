"""Estimate how long a sweep takes, from its own finished cases."""

from __future__ import annotations

import statistics
import time
from collections.abc import Hashable, Mapping, Sequence

from runner.device import DeviceInfo
from runner.display.terminal import duration
from runner.display.text import count
from runner.jobs.job import Job
from runner.kernel.case import READ
from runner.sweep.trial import MAKING

LONG_S = 120.0  # the user is warned of a longer sweep
MIN_MEASUREMENTS, SOON_S = 3, 10.0  # measurements and seconds after which an estimate is possible


class Times:
    """The seconds of a case in a round, and those for its inputs and its reference among them."""

    def __init__(self) -> None:
        """Start now."""
        self._started = self._since = time.monotonic()
        self._is_making = False
        self.making_s = self.seconds = 0.0

    def step(self, name: str) -> None:
        """A step begins."""
        now = time.monotonic()
        self.making_s += (now - self._since) * self._is_making
        self.seconds = now - self._started
        self._since, self._is_making = now, name == MAKING


class Pace:
    """Seconds per round of each case that was measured, apart from making inputs that later cases share."""

    def __init__(self) -> None:
        """Start without measurements."""
        self._seconds = dict[int, float]()
        self._inputs = set[Hashable]()  # that were made
        self._making = list[float]()  # seconds for inputs that no case before had, of each case in its first round

    def add(self, job: Job, seconds: float, making_s: float = 0.0) -> None:
        """Record the seconds that a case took in a round, of which `making_s` made its inputs and its reference."""
        inputs = tuple((a.name, str(a.dtype), a.shape) for a in job.case.arrays() if a.role in READ)
        new_s = 0.0 if inputs in self._inputs else making_s
        self._inputs.add(inputs)
        if job.number not in self._seconds:
            self._making.append(new_s)
        self._seconds[job.number] = seconds - new_s

    @property
    def measured(self) -> int:
        """The number of cases measured so far."""
        return len(self._seconds)

    def remaining_s(self, waiting: Mapping[int, int]) -> float | None:
        """Estimate the remaining time in seconds.

        A case that was not measured yet counts as the mean of the measured ones, and as the seconds that lately went
        into inputs which no case before had.

        Args:
            waiting: The rounds left for each job, by its number.

        Returns:
            Seconds; `None` if fewer than three cases, and not all of the waiting ones, were measured.
        """
        new = [number for number, rounds in waiting.items() if rounds and number not in self._seconds]
        if new and self.measured < MIN_MEASUREMENTS:
            return None
        mean = statistics.fmean(self._seconds.values()) if self._seconds else 0.0
        lately = self._making[len(self._making) // 2 :]
        making = len(new) * statistics.fmean(lately) if new else 0.0
        return making + sum(rounds * self._seconds.get(number, mean) for number, rounds in waiting.items())

    def warning(self, waiting: Mapping[int, int], spent_s: float) -> str:
        """A sentence with the estimate if the waiting jobs (see `left`) take long; otherwise empty.

        `spent_s` is the time since the first measurement began, in seconds.
        """
        left = self.remaining_s(waiting) if spent_s > SOON_S else None
        if left is None or left < LONG_S:
            return ""
        return f"This takes about {duration(left)} more, estimated from the first {self.measured:,} measurements."


def describe_plan(jobs: Sequence[Job], info: DeviceInfo) -> str:
    """A sentence with the number of measurements of the jobs on an open device and, for a GPU, their least time."""
    protocols = [job.protocol(info.kind) for job in jobs]
    times = f"{count(len(jobs), 'case')}, {count(sum(p.rounds for p in protocols), 'measurement')}"
    if not info.is_gpu:
        return f"{times}."
    launch_ms = (info.details["flush_us"] + info.details["empty_kernel_us"]) / 1000.0
    least_ms = sum(p.rounds * (p.warmup_ms + max(p.min_time_ms, p.min_samples * launch_ms)) for p in protocols)
    return (
        f"{times}: at least {duration(least_ms / 1000.0)}, for warm-up and the minimum number of samples. Compiling, "
        "inputs, references and checks take more time."
    )
