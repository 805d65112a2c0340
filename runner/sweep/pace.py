"""Estimate how long a sweep takes, from its own finished cases."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence

from runner.device import DeviceInfo
from runner.display.terminal import duration
from runner.display.text import count
from runner.jobs.job import Job

LONG_S = 120.0  # the user is warned of a longer sweep
MIN_MEASUREMENTS, SOON_S = 3, 10.0  # measurements and seconds after which an estimate is possible


class Pace:
    """Seconds per round of each case that was measured."""

    def __init__(self) -> None:
        """Start without measurements."""
        self._seconds = dict[int, float]()

    def add(self, job: Job, seconds: float) -> None:
        """Record the seconds that a case took in a round."""
        self._seconds[job.number] = seconds

    @property
    def measured(self) -> int:
        """The number of cases measured so far."""
        return len(self._seconds)

    def remaining_s(self, waiting: Mapping[int, int]) -> float | None:
        """Estimate the remaining time in seconds.

        A case that was not measured yet counts as the mean of the measured ones.

        Args:
            waiting: The rounds left for each job, by its number.

        Returns:
            Seconds; `None` if fewer than three cases, and not all of the waiting ones, were measured.
        """
        if self.measured < MIN_MEASUREMENTS and not self._seconds.keys() >= {
            number for number, rounds in waiting.items() if rounds
        }:
            return None
        mean = statistics.fmean(self._seconds.values()) if self._seconds else 0.0
        return sum(rounds * self._seconds.get(number, mean) for number, rounds in waiting.items())

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
