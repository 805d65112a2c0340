"""The last stage of a sweep: each step of `profile` measures what it lacks of the cases, in processes of its own.

A step's result is kept in the job's profile.json under the step's name, and its columns enter the job's row. So a
resumed sweep runs what is missing, and nothing that a profiler does can reach the times.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from runner import interruption
from runner.config import Job
from runner.device.kinds import is_gpu, label
from runner.kernel import metrics
from runner.profiling.ceilings import Ceilings
from runner.profiling.counters import Ncu
from runner.profiling.energy import Energy
from runner.profiling.sanitizer import Sanitizer
from runner.profiling.step import Row, Step, Tools, known
from runner.record.folder import RunFolder
from runner.sweep.ledger import Ledger
from runner.sweep.stage import Bench, Stage


def steps() -> tuple[Step, ...]:
    """The steps, in order."""
    return (Ncu(), Ceilings(), Energy(), Sanitizer())


Best = tuple[frozenset[int], frozenset[int]]
"""The jobs of the fastest cases, and of those that cannot be told from them."""


class Profiling(Stage):
    """Runs each step for the jobs that want it and lack it, however long it takes: the user asked for it."""

    def __init__(self, best: Callable[[Path], Best]) -> None:
        """`best` says which cases of a folder `profile.cases` means."""
        self._best = best

    def lacks(self, job: Job, row: Row, folder: RunFolder) -> bool:
        """Whether a job that has its times still lacks a step; which cases are the fastest is not asked."""
        return any(_lacks(step, job, row, folder) for step in steps())

    def run(self, bench: Bench) -> None:
        """Run the steps one after the other, each for all jobs."""
        ledger, folder, progress = bench.ledger, bench.folder, bench.progress
        asking = [job for job in ledger.jobs if job.profile.asks and ledger.row(job)]
        if asking and not any(is_gpu(str((ledger.row(job) or {})["device"])) for job in asking):
            where = label(str((ledger.row(asking[0]) or {})["device"]))
            progress.say(f"profile: nothing is profiled on {where}: counters and energy need a GPU")
            return
        for step in steps():
            lacking = [job for job in asking if (row := ledger.row(job)) and _lacks(step, job, row, folder)]
            chosen = self._chosen(lacking, ledger, folder)
            for job in lacking:
                if job not in chosen:
                    why = f"not selected by profile.cases={job.profile.cases}"
                    _keep(folder, job.number, step.name, {"reason": why})
            for group in _alike(chosen):
                _run_step(step, group, bench)
            ledger.write()

    def _chosen(self, jobs: Sequence[Job], ledger: Ledger, folder: RunFolder) -> list[Job]:
        """The jobs that `profile.cases` asks for."""
        if all(job.profile.cases == "all" for job in jobs):
            return list(jobs)
        ledger.write()
        fastest, tied = self._best(folder.path)
        wanted = {"all": lambda _: True, "tied": (fastest | tied).__contains__, "fastest": fastest.__contains__}
        return [job for job in jobs if wanted[job.profile.cases](job.number)]


def _run_step(step: Step, jobs: Sequence[Job], bench: Bench) -> None:
    """Run a step for jobs of one device configuration, and keep each result as soon as it is known."""
    bench.progress.stage(f"profiling ({step.name})", len(jobs))
    rows = {job.number: row for job in jobs if (row := bench.ledger.row(job))}
    for job, result in step.run(jobs, Tools(bench.folder, rows, bench.progress)):
        interruption.check()
        _keep(bench.folder, job.number, step.name, result.record)
        if reason := result.record.get("reason"):
            bench.progress.say(f"profile: {job.case.label}: {reason}")
        row = {**rows[job.number], **result.columns}
        bench.ledger.add(job, {**row, **metrics.of_row(job.metrics, job.case.variables, row)})
        bench.progress.step()


def _lacks(step: Step, job: Job, row: Row, folder: RunFolder) -> bool:
    if not job.profile.asks or not is_gpu(str(row["device"])):
        return False
    return step.wants(job, row) and step.name not in known(folder, job.number)


def _alike(jobs: Sequence[Job]) -> list[list[Job]]:
    groups: dict[tuple[str, ...], list[Job]] = {}
    for job in jobs:
        groups.setdefault((*job.device.key, job.compiler, str(job.profile)), []).append(job)
    return list(groups.values())


def _keep(folder: RunFolder, job: int, name: str, record: Mapping[str, Any]) -> None:
    folder.write_json(folder.profile(job), {**known(folder, job), name: dict(record)})
