"""The base class of the `profile` stages: which cases a stage measures, and where its results go.

A stage's record is kept in the job's profile.json under the stage's name, and its columns enter the job's row. So a
resumed sweep runs only what is missing.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from runner import interruption
from runner.device import DeviceInfo
from runner.device.kinds import is_gpu, label
from runner.display.terminal import SweepProgress
from runner.jobs.job import Job
from runner.kernel import metrics
from runner.record.folder import RunFolder
from runner.sweep.ledger import Rows
from runner.sweep.pool import PartOfProgress, Slot
from runner.sweep.stage import Bench, Stage

Row = Mapping[str, Any]

NOT_SELECTED = "not selected by profile.cases="


@dataclass(frozen=True)
class StageResult:
    """What a stage found in a case."""

    record: Mapping[str, Any]  # for profile.json; `reason` says why the measurement failed
    columns: Mapping[str, Any] = field(default_factory=dict)  # of results.csv


@dataclass(frozen=True)
class Tools:
    """The sweep's folder, rows and progress, for a stage's `measure`."""

    folder: RunFolder
    rows: Mapping[int, Row]  # by job number
    progress: SweepProgress
    environment: Mapping[str, str]  # makes a process see the GPU that measured the jobs
    info: Callable[[], DeviceInfo]  # the GPU's properties; opens it if no job was measured

    def say(self, sentence: str) -> None:
        """Print a warning, also in quiet mode."""
        self.progress.warn(f"profile: {sentence}")


class ProfileStage(Stage):
    """Measures the jobs that ask for it and lack it, without a time limit, since the user asked for it."""

    name: str  # key of its records in profile.json
    setting: str  # the field of `ProfileConfig` that asks for it
    statuses: tuple[str, ...] = ("ok",)  # of the cases that it measures
    by_kernel = False  # whether it tells cases apart by their kernels, whose names in a library nobody declares

    @abstractmethod
    def measure(self, jobs: Sequence[Job], tools: Tools) -> Iterator[tuple[Job, StageResult]]:
        """Measure cases of one device configuration, and yield each result as soon as it is known."""

    def steps(self, jobs: Sequence[Job]) -> int:
        """The number of steps that `measure` counts in `Tools.progress`, each of about the same duration."""
        return len(jobs)

    def lacks(self, job: Job, row: Row, folder: RunFolder) -> bool:
        """Whether a timed job lacks this stage's record. `profile.cases` is not considered."""
        wanted = getattr(job.profile, self.setting) and row["status"] in self.statuses and is_gpu(str(row["device"]))
        if not wanted or (self.by_kernel and job.case.kernel.form.calls_host):
            return False
        record = records(folder, job.number).get(self.name)
        reason = str(record.get("reason", "")) if isinstance(record, dict) else ""
        return record is None or (reason.startswith(NOT_SELECTED) and reason != self._not_selected(job))

    def _not_selected(self, job: Job) -> str:
        return f"{NOT_SELECTED}{self._cases(job)}"

    def run(self, bench: Bench) -> None:
        """Measure the jobs that lack a record, and write each result as soon as it is known."""
        ledger, folder = bench.ledger, bench.folder
        asking = [(job, row) for job in ledger.jobs if job.profile.needs_profiling and (row := ledger.row(job))]
        kinds = {str(row["device"]) for _, row in asking}
        if asking and not any(map(is_gpu, kinds)):
            bench.say_once(f"profile: cannot profile on {label(kinds.pop())}: counters and energy need a GPU")
            return
        lacking = [job for job, row in asking if self.lacks(job, row, folder)]
        chosen = self._chosen(lacking, ledger)
        for job in lacking:
            if job not in chosen:
                _keep(folder, job.number, self.name, {"reason": self._not_selected(job)})
        if chosen and (slots := bench.pool.slots):
            bench.progress.stage(f"profiling ({self.name})", self.steps(chosen), even=True)
            by_slot: dict[Slot, list[Job]] = {}
            for job in chosen:
                device = bench.devices.get(job.number)
                by_slot.setdefault(device.slot if device and device.slot in slots else slots[0], []).append(job)
            bench.pool.together({slot: partial(self._measure, slot, jobs, bench) for slot, jobs in by_slot.items()})
        ledger.write()

    def _cases(self, job: Job) -> str:
        """The cases to measure, one of `PROFILED`: those of the stage's own setting, or of `profile.cases`."""
        own = getattr(job.profile, self.setting)
        return own if isinstance(own, str) else job.profile.cases

    def _chosen(self, jobs: Sequence[Job], ledger: Rows) -> list[Job]:
        """Select the jobs that `_cases` names, by the rule that the report uses."""
        if all(self._cases(job) == "all" for job in jobs):
            return list(jobs)
        from runner.record.ranking import best_jobs  # noqa: PLC0415  (slow to import; only `profile.cases` needs it)

        ledger.write()
        fastest, tied = best_jobs(ledger.folder.path)
        chosen = {"all": {job.number for job in jobs}, "tied": fastest | tied, "fastest": fastest}
        return [job for job in jobs if job.number in chosen[self._cases(job)]]

    def _measure(self, slot: Slot, jobs: Sequence[Job], bench: Bench) -> None:
        """Measure jobs on the GPU of a slot."""
        progress = PartOfProgress(bench.progress, slot.number, {}) if bench.pool.size > 1 else bench.progress
        groups: dict[tuple[str, ...], list[Job]] = {}
        for job in jobs:
            groups.setdefault((*job.device.key, job.compiler, str(job.profile)), []).append(job)
        for group in groups.values():
            rows = {job.number: row for job in group if (row := bench.ledger.row(job))}
            info = partial(_info, bench, slot, group[0])
            for job, result in self.measure(group, Tools(bench.folder, rows, progress, slot.environment, info)):
                interruption.check()
                _keep(bench.folder, job.number, self.name, result.record)
                if reason := result.record.get("reason"):
                    progress.say(f"profile: {job.case.label}: {reason}")
                row = {**rows[job.number], **result.columns}
                bench.ledger.add(job, {**row, **metrics.row_values(job.metrics, job.case.variables, row)})


def _info(bench: Bench, slot: Slot, job: Job) -> DeviceInfo:
    measured = bench.devices.get(job.number)
    return measured.info if measured else slot.worker(job.device).info


def records(folder: RunFolder, job: int) -> dict[str, Any]:
    """Read N/profile.json: a record by stage name; empty if the job was not profiled."""
    content = folder.json(folder.profile(job))
    return content if isinstance(content, dict) else {}


def _keep(folder: RunFolder, job: int, name: str, record: Mapping[str, Any]) -> None:
    folder.write_json(folder.profile(job), {**records(folder, job), name: dict(record)})
