"""A stage that the group `profile` asks for: which cases it takes, and where its results go.

A stage's result is kept in the job's profile.json under the stage's name, and its columns enter the job's row. So a
resumed sweep runs what is missing.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from runner import interruption
from runner.device.kinds import is_gpu, label
from runner.display.terminal import SweepProgress
from runner.jobs.job import Job
from runner.kernel import metrics
from runner.record.folder import RunFolder
from runner.sweep.ledger import Ledger
from runner.sweep.stage import Bench, Stage

Row = Mapping[str, Any]
Best = tuple[frozenset[int], frozenset[int]]
"""The jobs of the fastest cases, and of those that cannot be told from them."""


@dataclass(frozen=True)
class Result:
    """What a stage has to say about a case."""

    record: Mapping[str, Any]  # for profile.json; `reason` says why nothing could be measured
    columns: Mapping[str, Any] = field(default_factory=dict)  # of results.csv


@dataclass(frozen=True)
class Tools:
    """What a stage measures with."""

    folder: RunFolder
    rows: Mapping[int, Row]  # by job
    progress: SweepProgress

    def say(self, sentence: str) -> None:
        """Print a sentence that stays, also in quiet mode."""
        self.progress.warn(f"profile: {sentence}")


class Asked(Stage):
    """Measures the jobs that ask for it and lack it, however long it takes: the user asked for it."""

    name: str  # of its records

    def __init__(self, best: Callable[[Path], Best]) -> None:
        """`best` says which cases of a folder `profile.cases` means."""
        self._best = best

    @abstractmethod
    def wants(self, job: Job, row: Row) -> bool:
        """Whether a case is to be measured, given its finished row."""

    @abstractmethod
    def measure(self, jobs: Sequence[Job], tools: Tools) -> Iterator[tuple[Job, Result]]:
        """Measure cases of one device configuration, and give each result as soon as it is known."""

    def lacks(self, job: Job, row: Row, folder: RunFolder) -> bool:
        """Whether a job that has its times still lacks the stage; which cases are the fastest is not asked."""
        if not job.profile.asks or not is_gpu(str(row["device"])):
            return False
        return self.wants(job, row) and self.name not in known(folder, job.number)

    def run(self, bench: Bench) -> None:
        """Measure what is lacking, and keep each result as soon as it is known."""
        ledger, folder = bench.ledger, bench.folder
        asking = [job for job in ledger.jobs if job.profile.asks and ledger.row(job)]
        kinds = {str((ledger.row(job) or {})["device"]) for job in asking}
        if asking and not any(map(is_gpu, kinds)):
            where = label(next(iter(kinds)))
            bench.say_once(f"profile: nothing is profiled on {where}: counters and energy need a GPU")
            return
        lacking = [job for job in asking if (row := ledger.row(job)) and self.lacks(job, row, folder)]
        chosen = self._chosen(lacking, ledger, folder)
        for job in lacking:
            if job not in chosen:
                _keep(folder, job.number, self.name, {"reason": f"not selected by profile.cases={job.profile.cases}"})
        for group in _alike(chosen):
            self._measure(group, bench)
        ledger.write()

    def _chosen(self, jobs: Sequence[Job], ledger: Ledger, folder: RunFolder) -> list[Job]:
        """The jobs that `profile.cases` asks for."""
        if all(job.profile.cases == "all" for job in jobs):
            return list(jobs)
        ledger.write()
        fastest, tied = self._best(folder.path)
        wanted = {"all": lambda _: True, "tied": (fastest | tied).__contains__, "fastest": fastest.__contains__}
        return [job for job in jobs if wanted[job.profile.cases](job.number)]

    def _measure(self, jobs: Sequence[Job], bench: Bench) -> None:
        """Measure jobs of one device configuration."""
        bench.progress.stage(f"profiling ({self.name})", len(jobs))
        rows = {job.number: row for job in jobs if (row := bench.ledger.row(job))}
        for job, result in self.measure(jobs, Tools(bench.folder, rows, bench.progress)):
            interruption.check()
            _keep(bench.folder, job.number, self.name, result.record)
            if reason := result.record.get("reason"):
                bench.progress.say(f"profile: {job.case.label}: {reason}")
            row = {**rows[job.number], **result.columns}
            bench.ledger.add(job, {**row, **metrics.of_row(job.metrics, job.case.variables, row)})
            bench.progress.step()


def known(folder: RunFolder, job: int) -> dict[str, Any]:
    """What the stages said about a job, by the stage's name."""
    content = folder.json(folder.profile(job))
    return content if isinstance(content, dict) else {}


def _alike(jobs: Sequence[Job]) -> list[list[Job]]:
    groups: dict[tuple[str, ...], list[Job]] = {}
    for job in jobs:
        groups.setdefault((*job.device.key, job.compiler, str(job.profile)), []).append(job)
    return list(groups.values())


def _keep(folder: RunFolder, job: int, name: str, record: Mapping[str, Any]) -> None:
    folder.write_json(folder.profile(job), {**known(folder, job), name: dict(record)})
