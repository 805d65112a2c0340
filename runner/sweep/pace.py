"""How long a sweep takes: estimated from its own finished cases alone."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence

from runner.device import DeviceInfo
from runner.display.terminal import duration
from runner.jobs.job import Job

LONG_S = 120.0  # a sweep that takes longer says so
FEW, SOON_S = 3, 10.0  # own measurements, and seconds, after which the rest can be told


class Pace:
    """Seconds per round of each case that was measured."""

    def __init__(self) -> None:
        """Nothing is known yet."""
        self._took = dict[int, float]()

    def took(self, job: Job, seconds: float) -> None:
        """Record how long a case took in a round."""
        self._took[job.number] = seconds

    @property
    def measured(self) -> int:
        """Cases that were measured so far."""
        return len(self._took)

    def left(self, waiting: Mapping[int, int]) -> float | None:
        """Seconds for so many rounds of jobs by their numbers; `None` if unknown.

        A case of which nothing is known counts as the mean of those measured so far; there must be three, or all.
        """
        if self.measured < FEW and not self._took.keys() >= {number for number, rounds in waiting.items() if rounds}:
            return None
        mean = statistics.fmean(self._took.values()) if self._took else 0.0
        return sum(rounds * self._took.get(number, mean) for number, rounds in waiting.items())

    def warning(self, waiting: Mapping[int, int], spent_s: float) -> str:
        """A sentence with the time and its source if the waiting jobs (see `left`) take long; else empty."""
        left = self.left(waiting) if spent_s > SOON_S else None
        if left is None or left < LONG_S:
            return ""
        return f"This takes about {duration(left)} more, estimated from the first {self.measured:,} measurements."


def expected(jobs: Sequence[Job], info: DeviceInfo) -> str:
    """A sentence: how many measurements the jobs are on an open device, and the least time that a GPU needs."""
    protocols = [job.protocol(info.kind) for job in jobs]
    times = f"{_count(len(jobs), 'case')}, {_count(sum(p.rounds for p in protocols), 'measurement')}"
    if not info.is_gpu:
        return f"{times}."
    launch_ms = (info.details["flush_us"] + info.details["empty_kernel_us"]) / 1000.0
    least_ms = sum(p.rounds * (p.warmup_ms + max(p.min_time_ms, p.min_samples * launch_ms)) for p in protocols)
    return (
        f"{times}: at least {duration(least_ms / 1000.0)}, for warm-up and the minimum number of samples. Compiling, "
        "inputs, references and checks take more time."
    )


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
