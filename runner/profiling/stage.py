"""The last stage of a sweep: each step of `profile` measures what it lacks of the cases, in processes of its own.

A step's result is kept in the job's profile.json under the step's name, and its columns enter the job's row. So a
resumed sweep runs what is missing, and nothing that a profiler does can reach the times.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from runner import interruption
from runner.config import Job
from runner.folder import RunFolder
from runner.sweep.ledger import Ledger
from runner.terminal import SweepProgress

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Result:
    """What a step has to say about a case."""

    record: Mapping[str, Any]  # for profile.json; `reason` says why nothing could be measured
    columns: Mapping[str, Any] = field(default_factory=dict)  # of results.csv


@dataclass(frozen=True)
class Stage:
    """What a step works with."""

    folder: RunFolder
    rows: Mapping[int, Row]  # by job
    progress: SweepProgress


class Step(Protocol):
    """One way of profiling."""

    name: str

    def wants(self, job: Job, row: Row) -> bool:
        """Whether a case is to be profiled so, given its finished row."""

    def run(self, jobs: Sequence[Job], stage: Stage) -> Iterator[tuple[Job, Result]]:
        """Profile cases of one device configuration, and give each result as soon as it is known."""


STEPS: tuple[Step, ...] = ()


def run(ledger: Ledger, folder: RunFolder, progress: SweepProgress) -> None:
    """Run each step for the jobs that want it and lack it."""
    for step in STEPS:
        lacking = [job for job in ledger.jobs if (row := ledger.row(job)) and _lacks(step, job, row, folder)]
        groups: dict[tuple[str, ...], list[Job]] = {}
        for job in lacking:
            groups.setdefault((*job.device.key, job.compiler, str(job.profile)), []).append(job)
        for group in groups.values():
            progress.stage(f"profiling ({step.name})", len(group))
            rows = {job.number: row for job in group if (row := ledger.row(job))}
            for job, result in step.run(group, Stage(folder, rows, progress)):
                interruption.check()
                _keep(folder, job.number, step.name, result.record)
                ledger.add(job, {**rows[job.number], **result.columns})
                progress.step()
        ledger.write()


def lacks(job: Job, row: Row | None, folder: RunFolder) -> bool:
    """Whether a job that has its times still lacks a step."""
    return row is not None and any(_lacks(step, job, row, folder) for step in STEPS)


def _lacks(step: Step, job: Job, row: Row, folder: RunFolder) -> bool:
    return job.profile.asks and step.wants(job, row) and step.name not in known(folder, job.number)


def known(folder: RunFolder, job: int) -> dict[str, Any]:
    """What the steps said about a job, by the step's name."""
    content = folder.json(folder.profile(job))
    return content if isinstance(content, dict) else {}


def _keep(folder: RunFolder, job: int, name: str, record: Mapping[str, Any]) -> None:
    folder.write_json(folder.profile(job), {**known(folder, job), name: dict(record)})
