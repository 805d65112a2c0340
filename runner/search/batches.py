"""Measure the points of a search with the engine: a batch at a time, side by side with the best so far.

Each batch runs in a folder of its own below the search's, with one short round. So a case has few samples until it is
among the best. A batch also measures the best case so far again, and the values of the others are scaled by what that
one took at first: a GPU that becomes warmer slows down both. At the end the best cases are measured anew, together and
with the whole protocol.
"""

from __future__ import annotations

import dataclasses
import json
import math
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from runner import limited, runs
from runner.config import Job
from runner.device.kinds import REPLAY
from runner.folder import RunFolder
from runner.metrics import Metric
from runner.search.loop import Trial, Values
from runner.search.space import Point, Space
from runner.settings import DeviceConfig, TimingConfig
from runner.sweep import engine
from runner.sweep.results import Row
from runner.sweep.worker import Worker
from runner.terminal import SweepProgress

MOST_FINAL = 16  # cases that are measured anew
MARGIN = 0.03  # of the best: cases within it cannot be told from it after one short round
DRIFT = 0.5  # a factor further from 1 than this is no drift, and is not applied


class _Kept(Worker):
    """A worker that the engine does not close after a batch."""

    def close(self) -> None:
        """Stay."""


class Batches:
    """The jobs of a search, and how they are measured."""

    def __init__(
        self,
        folder: RunFolder,
        progress: SweepProgress,
        job: Callable[[Point, int], Job],
        objectives: Sequence[Metric],
    ) -> None:
        """`job` makes the job of a point, with a number and the files of its folder."""
        self._folder, self._progress, self._job, self._objectives = folder, progress, job, objectives
        self._numbers: dict[Point, int] = {}
        self._jobs: dict[int, Job] = {}
        self._best: tuple[float, int] | None = None  # the first objective, as it was measured first, and its job
        self._worker: Worker | None = None

    def measure(self, points: Sequence[Point]) -> dict[Point, Values | None]:
        """Measure new points; `None` for one that failed."""
        jobs = [self._new(point) for point in points]
        short = [dataclasses.replace(job, timing=_short(job.timing), lines=False) for job in jobs]
        beside = self._beside() if jobs[0].device.kind != REPLAY else []
        rows = self._run([*short, *beside])
        factor = 1.0
        if beside and self._best and (again := self._values(beside[0], rows.get(beside[0].number))):
            found = self._best[0] / again[0] if again[0] else 1.0
            factor = found if abs(found - 1) < DRIFT else 1.0
        measured: dict[Point, Values | None] = {}
        for point, job in zip(points, jobs, strict=True):
            self._move(job)
            values = self._values(job, rows.get(job.number))
            measured[point] = values and (values[0] * factor, *values[1:])
        for point, values in measured.items():
            if values and (self._best is None or values[0] < self._best[0]):
                self._best = (values[0], self._numbers[point])
        return measured

    def take_up(self, trials: Mapping[Point, Trial]) -> None:
        """Take up what an interrupted search has measured."""
        for number, (point, trial) in enumerate(trials.items()):
            self._numbers[point] = number
            self._jobs[number] = self._job(point, number)
            if trial.values and (self._best is None or trial.values[0] < self._best[0]):
                self._best = (trial.values[0], number)

    def finish(self, best: Sequence[Point]) -> None:
        """Measure the best points anew, together."""
        jobs = [self._jobs[self._numbers[point]] for point in best]
        if jobs and jobs[0].device.kind != REPLAY:
            self._progress.say(f"measuring the best {len(jobs)} case{'s' * (len(jobs) > 1)} anew, side by side")
            self._run(jobs)
            for job in jobs:
                self._move(job)

    def close(self) -> None:
        """End the worker."""
        if self._worker:
            self._worker.kill()
        shutil.rmtree(self._batch.path, ignore_errors=True)

    @property
    def _batch(self) -> RunFolder:
        return RunFolder(self._folder.path / "search" / "batch")

    def _new(self, point: Point) -> Job:
        number = self._numbers.setdefault(point, len(self._numbers))
        self._jobs[number] = self._job(point, number)
        return self._jobs[number]

    def _beside(self) -> list[Job]:
        """The best case so far, to be measured again."""
        if self._best is None:
            return []
        job = self._jobs[self._best[1]]
        return [dataclasses.replace(job, timing=_short(job.timing), lines=False)]

    def _run(self, jobs: Sequence[Job]) -> dict[int, Row]:
        """Run jobs in the folder of the batch; gives their rows."""
        batch = self._batch
        shutil.rmtree(batch.path, ignore_errors=True)
        batch.path.mkdir(parents=True)
        batch.write(batch.environment, self._folder.read(self._folder.environment))
        engine.run(jobs, batch, self._progress, "batch", self._kept_worker(jobs[0].device))
        self._folder.write(self._folder.environment, batch.read(batch.environment))
        rows = {job.number: batch.json(batch.result(job.number)) for job in jobs}
        return {number: row for number, row in rows.items() if isinstance(row, dict)}

    def _kept_worker(self, config: DeviceConfig) -> Worker | None:
        if config.kind == REPLAY:
            return None
        if self._worker is None or not self._worker.alive:
            self._worker = _Kept(config)
        return self._worker

    def _move(self, job: Job) -> None:
        """Move what a job has left from the batch's folder into the search's."""
        batch = self._batch
        for path in sorted(batch.job(job.number).glob("*")):
            if path.is_file():
                path.replace(_made(self._folder.job(job.number)) / path.name)
        for of in (RunFolder.samples, RunFolder.hot_samples):
            if (kept := of(batch, job.case.id, job.number)).exists():
                kept.replace(_made(of(self._folder, job.case.id, job.number).parent) / kept.name)

    def _values(self, job: Job, row: Row | None) -> Values | None:
        if row is None or row.get("status") != "ok":
            return None
        names = {**row, **job.case.variables}
        values = tuple(metric(names) for metric in self._objectives)
        if any(value is None or not math.isfinite(value) for value in values):
            return None
        return tuple(
            float(v) if m.better != "higher" else -float(v)
            for v, m in zip(values, self._objectives, strict=True)
            if v is not None
        )


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _short(timing: TimingConfig) -> TimingConfig:
    """One round of few samples."""
    return dataclasses.replace(
        timing, rounds=1, cpu_rounds=1, fresh_process=False, hot=False, max_samples=timing.min_samples
    )


def write(folder: RunFolder, trials: Sequence[Trial]) -> None:
    """Keep what was told, so that an interrupted search goes on where it was."""
    lines = [json.dumps(dataclasses.asdict(trial)) for trial in trials]
    folder.write(folder.told, "".join(f"{line}\n" for line in lines))


def read(folder: RunFolder, space: Space) -> dict[Point, Trial]:
    """What was told before; nothing in a new search. A `UsageError` if it is not of this space."""
    trials = []
    with runs.reading(folder.told):
        for line in folder.text(folder.told).splitlines() if folder.has(folder.told) else ():
            content = limited.load_json(line)
            point, values = (
                tuple(map(int, content["point"])),
                content["values"] and tuple(map(float, content["values"])),
            )
            sizes = [len(axis.values) for axis in space.axes]
            if not all(0 <= i < size for i, size in zip(point, sizes, strict=True)):
                raise ValueError(f"{point} is not in the space")
            trials.append(Trial(point, values, float(content["seconds"])))
    return {trial.point: trial for trial in trials}
