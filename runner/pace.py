"""How long a sweep takes: estimated only from earlier runs of its cases and from its own finished cases."""

from __future__ import annotations

import csv
import statistics
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from runner.config import Job
from runner.device import DeviceInfo
from runner.errors import UsageError
from runner.files import limited
from runner.record import runs
from runner.record.folder import RunFolder
from runner.terminal import duration

LONG_S = 120.0  # a sweep that takes longer says so
FEW, SOON_S = 3, 10.0  # own measurements, and seconds, after which the rest can be told
MOST_RUNS, MOST_S = 20, 1.0  # earlier runs that are read, and the time for it
MOST_BYTES = 16 * 2**20  # of the table of an earlier run
_COUNTS = ("rounds", "cpu_rounds", "order_seed")  # parts of a timing that do not change how long a round takes


class Pace:
    """Seconds per round of each case: from an earlier run until this run has measured it."""

    def __init__(self, earlier: Mapping[int, float]) -> None:
        """Start with the known seconds per round, by job number."""
        self._earlier, self._own = earlier, dict[int, float]()

    def took(self, job: Job, seconds: float) -> None:
        """Record how long a case took in a round."""
        self._own[job.number] = seconds

    @property
    def measured(self) -> int:
        """Cases that were measured so far."""
        return len(self._own)

    def left(self, waiting: Mapping[int, int]) -> float | None:
        """Seconds for so many rounds of jobs by their numbers; `None` if unknown.

        A case of which nothing is known counts as the mean of those measured so far; there must be three.
        """
        known = {**self._earlier, **self._own}
        if self.measured < FEW and not known.keys() >= {number for number, rounds in waiting.items() if rounds}:
            return None
        mean = statistics.fmean(self._own.values()) if self._own else 0.0
        return sum(rounds * known.get(number, mean) for number, rounds in waiting.items())

    def warning(self, waiting: Mapping[int, int], spent_s: float) -> str:
        """A sentence with the time and its source if the waiting jobs (see `left`) take long; else empty."""
        if not self._own:
            known = [rounds * self._earlier[number] for number, rounds in waiting.items() if number in self._earlier]
            if sum(known) < LONG_S:
                return ""
            if len(known) == len(waiting):
                return f"This takes about {duration(sum(known))}, estimated from earlier runs of its cases."
            part = f"{len(known):,} of its {len(waiting):,} cases"
            return f"This takes at least {duration(sum(known))}, estimated from earlier runs of {part}."
        left = self.left(waiting) if spent_s > SOON_S else None
        if left is None or left < LONG_S:
            return ""
        return f"This takes about {duration(left)} more, estimated from the first {len(self._own):,} measurements."


def expected(jobs: Sequence[Job], info: DeviceInfo) -> str:
    """A sentence: how long the jobs would take on an open device, and the source of the estimate."""
    rounds = {job.number: job.protocol(info.kind).rounds for job in jobs}
    known = {number: seconds * rounds[number] for number, seconds in earlier(jobs, info).items()}
    times = f"{_count(len(jobs), 'case')}, {_count(sum(rounds.values()), 'measurement')}"
    if known:
        which = "they" if len(known) == len(jobs) else f"{len(known):,} of them"
        least = "about" if len(known) == len(jobs) else "at least"
        return (
            f"{times}: {least} {duration(sum(known.values()))}, as {which} took in earlier runs below {runs.OUTPUTS}."
        )
    if not info.is_gpu:
        return f"{times}. The time is not known: no earlier run below {runs.OUTPUTS} measured these cases."
    launch_ms = (info.details["flush_us"] + info.details["empty_kernel_us"]) / 1000.0
    protocols = [job.protocol(info.kind) for job in jobs]
    least_ms = sum(p.rounds * (p.warmup_ms + max(p.min_time_ms, p.min_samples * launch_ms)) for p in protocols)
    return (
        f"{times}: at least {duration(least_ms / 1000.0)}, for warm-up and the minimum number of samples. Inputs, "
        f"references and checks take more time, which no earlier run below {runs.OUTPUTS} has measured."
    )


def earlier(jobs: Sequence[Job], info: DeviceInfo) -> dict[int, float]:
    """Seconds per round of the jobs that earlier runs below outputs/ measured with the same device and settings."""
    wanted: dict[str, list[Job]] = {}
    for job in jobs:
        wanted.setdefault(job.case.id, []).append(job)
    found: dict[int, float] = {}
    started = time.monotonic()
    for folder in sorted(runs.OUTPUTS.glob("*/*/"), reverse=True)[:MOST_RUNS]:  # outputs/DATE/TIME-WHAT, newest first
        for case, way, seconds in _measured(folder, info):
            for job in wanted.get(case, ()):
                if job.number not in found and way == _way(job.asked):
                    found[job.number] = seconds
        if len(found) == len(jobs) or time.monotonic() - started > MOST_S:
            break
    return found


def _measured(path: Path, info: DeviceInfo) -> Iterator[tuple[str, Any, float]]:
    """Cases of a run that were measured on such a device: id, settings, seconds per round. None if it is torn."""
    folder = RunFolder(path)
    try:
        devices = runs.section(runs.environment(path), "devices").values()
        if not any(isinstance(d, dict) and (d.get("kind"), d.get("name")) == (info.kind, info.name) for d in devices):
            return
        plan = folder.planned()
        ways = {str(case["job"]): _way(plan["ways"][case["way"]]) for case in plan["cases"]}
        head, *lines = limited.read_csv(folder.read(folder.results, MOST_BYTES))
        for row in (dict(zip(head, line, strict=False)) for line in lines):
            if row["status"] == "ok" and row["device"] == info.kind:
                yield row["case"], ways[row["job"]], float(row["wall_s"]) / float(row["rounds"])
    except (OSError, csv.Error, UsageError, *runs.MALFORMED):  # such as a run of an older version
        return


def _way(asked: Mapping[str, Any]) -> dict[str, Any]:
    same = {name: value for name, value in asked.items() if name not in ("lines", "profile", "racecheck")}
    return {**same, "timing": {name: v for name, v in asked["timing"].items() if name not in _COUNTS}}


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
