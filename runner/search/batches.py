"""Measure the points of a search with the engine, one batch at a time, side by side with the best case so far.

Each batch has one short round, so a case has few samples until it is among the best; `looks` gives the samples of each
level. A batch also measures the best case so far again, and the values of the others are scaled by the ratio of its two
measurements: a GPU that becomes warmer slows down both. At the end the best case and all cases that are tied with it
are measured again, together and with the whole protocol.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence

from runner.device.kinds import kind_of
from runner.display.terminal import SweepProgress
from runner.jobs.job import Job
from runner.jobs.settings import LINES_ALL
from runner.kernel import metrics
from runner.kernel.metrics import Metric
from runner.record import noise, runs, searched
from runner.record.folder import RunFolder
from runner.record.searched import Point, Trial, Values
from runner.record.stored_rows import Row
from runner.search.contenders import Candidate, candidate, contenders
from runner.search.devices import Devices
from runner.search.loop import HALVING, front
from runner.search.space import Space

MIN_SAMPLES = 3  # per case
MARGIN = 0.03  # relative; cases within it are tied with the best if the objective has no ratios
MAX_DRIFT = 0.5  # a drift factor further from 1 than this is not applied


class Batches:
    """The jobs of a search, and how they are measured."""

    def __init__(
        self,
        folder: RunFolder,
        devices: Devices,
        progress: SweepProgress,
        job: Callable[[Point, int], Job],
        objectives: Sequence[Metric],
        looks: Sequence[int],
    ) -> None:
        """Prepare the measurements of a search.

        `job` makes the job of a point, given its number. `looks` are the samples of a case at each level, ascending.
        """
        self._folder, self._devices, self._progress, self._job = folder, devices, progress, job
        self._objectives, self._looks = objectives, looks
        self._numbers: dict[Point, int] = {}
        self._jobs: dict[int, Job] = {}
        self._ahead: list[Job] = []  # to be compiled while the next batch is measured
        self._best: tuple[float, int] | None = None  # first objective and job number of the best at the highest level
        self._candidates: dict[Point, Candidate | None] = {}  # by the first objective, without drift
        self._raw: dict[Point, tuple[float, str]] = {}  # the first objective as in the table, and the GPU
        self._rehearsal = False  # on the CPU device
        self._warned = False

    def prepare(self, points: Sequence[Point]) -> None:
        """Have new points compiled while those of the next `measure` are measured."""
        self._ahead = [self._new(point) for point in points]

    def measure(self, levels: Mapping[Point, int]) -> dict[Point, Values | None]:
        """Measure points at their levels.

        Returns:
            The objectives of each point, lower is better, without drift; `None` if the case failed.
        """
        jobs = {p: dataclasses.replace(self._new(p), look=self._looks[level]) for p, level in levels.items()}
        beside = self._beside()
        points = {job.number: point for point, job in jobs.items()}
        measured: dict[Point, Values | None] = {}
        for own, rows in self._devices.run(list(jobs.values()), beside, self._ahead):
            factor = self._factor(beside, rows)
            for job in own:
                point, values = points[job.number], self._values(job, rows.get(job.number))
                measured[point] = values and (values[0] * factor, *values[1:])
                if values:
                    self._note(point, job, rows[job.number], values[0], factor)
                elif rows.get(job.number, {}).get("status") == "ok" and not self._warned:
                    self._warned = True
                    names = " or ".join(m.name for m in self._objectives)
                    self._progress.warn(
                        f"{job.case.label} has no value of {names}; the search counts such cases as failed"
                    )
        for point, values in measured.items():
            self._compare(point, levels[point], values)
        return measured

    def restore(self, trials: Mapping[Point, Trial]) -> None:
        """Restore the state of an interrupted search from its trials."""
        for number, (point, trial) in enumerate(trials.items()):
            self._numbers[point] = number
            job = self._jobs[number] = self._job(point, number)
            row = self._folder.row(number)
            if trial.values and row and (raw := self._values(job, row)):
                self._note(point, job, row, raw[0], trial.values[0] / raw[0] if raw[0] else 1.0)
            self._compare(point, trial.level, trial.values)

    def tied(self, trials: Sequence[Trial]) -> list[Trial]:
        """Select the best trials and those tied with the best one; in a rehearsal, the best only."""
        best = front(trials)
        if not best or best[0].values is None or len(best[0].values) > 1 or self._rehearsal:
            return best
        measured = {t.point: t for t in trials if t.values}
        candidates = {point: c for point in measured if (c := self._candidates.get(point))}
        if len(candidates) < len(measured):
            limit = best[0].values[0] + MARGIN * abs(best[0].values[0])
            return [t for t in measured.values() if t.values and t.values[0] <= limit]
        devices = runs.section(runs.environment(self._folder.path), "devices")
        of_best = candidates[best[0].point].noise(noise.read_device_noise(next(iter(devices.values()), {})))
        return [measured[point] for point in contenders({p: c.side for p, c in candidates.items()}, of_best)]

    def finish(self, best: Sequence[Point]) -> list[Point]:
        """Measure the best points again, with all that the table would otherwise rank ahead of them; returns all."""
        chosen, new = list(best), list(best)
        while new:
            jobs = {point: self._jobs[self._numbers[point]] for point in chosen}
            count = f"{len(jobs):,} cases again, side by side" if len(jobs) > 1 else "case again"
            self._progress.say(f"measuring the best {count}")
            rows = self._devices.remeasure(list(jobs.values()))
            for point, job in jobs.items():
                values, row = self._values(job, rows.get(job.number)), rows.get(job.number, {})
                self._raw[point] = values[0] if values else math.inf, str(row.get("gpu") or "")
            limit, gpu = min(self._raw[point] for point in chosen)
            ahead = sorted((raw, p) for p, (raw, own) in self._raw.items() if raw < limit and (own == gpu or not gpu))
            new = [point for _, point in ahead[: 1 if math.isinf(limit) else None] if not self._rehearsal]
            chosen += new
        return chosen

    def _new(self, point: Point) -> Job:
        number = self._numbers.setdefault(point, len(self._numbers))
        if number not in self._jobs:
            self._jobs[number] = self._job(point, number)
        return self._jobs[number]

    def _beside(self) -> list[Job]:
        """The job of the best case so far, to be measured again."""
        if self._best is None:
            return []
        return [dataclasses.replace(self._jobs[self._best[1]], look=self._looks[-1])]

    def _factor(self, beside: Sequence[Job], rows: Mapping[int, Row]) -> float:
        """The factor that removes a device's drift, or its difference from other GPUs, from its values."""
        again = self._values(beside[0], rows.get(beside[0].number)) if beside else None
        if not again or not again[0] or self._best is None:
            return 1.0
        factor = self._best[0] / again[0]
        return factor if abs(factor - 1) < MAX_DRIFT else 1.0

    def _note(self, point: Point, job: Job, row: Row, raw: float, factor: float) -> None:
        """Store the candidate and the raw objective of a row, for `tied` and `finish`."""
        self._candidates[point] = candidate({**job.case.variables, **_timed(row)}, self._objectives[0], factor)
        self._raw[point] = raw, str(row.get("gpu") or "")
        self._rehearsal = not row.get(metrics.TIME)

    def _compare(self, point: Point, level: int, values: Values | None) -> None:
        """Make a point the reference of later batches if it is the best of the highest level."""
        if level == len(self._looks) - 1 and values and (self._best is None or values[0] < self._best[0]):
            self._best = (values[0], self._numbers[point])

    def _values(self, job: Job, row: Row | None) -> Values | None:
        if row is None or row.get("status") != "ok":
            return None
        names = {**_timed(row), **job.case.variables}
        values = tuple(metric(names) for metric in self._objectives)
        signs = (-1.0 if metric.better == "higher" else 1.0 for metric in self._objectives)
        signed = tuple(sign * float(v) for sign, v in zip(signs, values, strict=True) if v is not None)
        return signed if len(signed) == len(values) and all(map(math.isfinite, signed)) else None


def _timed(row: Row) -> Row:
    """Return the row; in a rehearsal on the CPU device, with its own time in place of a GPU's."""
    us = metrics.median_us(row)
    return row if us is None or row.get(metrics.TIME) else {**row, **dict.fromkeys(metrics.LAUNCH_TIMES, us)}


def looks(job: Job, objectives: int) -> list[int]:
    """Compute the samples of a case at each level, ascending. The highest level has the least samples of a round.

    There is a single level for several objectives, and if profiling or counting lines takes longer than the samples.
    """
    samples = [job.timing.protocol(kind_of(job.device)).min_samples]
    beside = job.profile.needs_profiling or job.lines == LINES_ALL
    while samples[0] // HALVING >= MIN_SAMPLES and not beside and objectives == 1:
        samples.insert(0, samples[0] // HALVING)
    return samples


def read(folder: RunFolder, space: Space) -> dict[Point, Trial]:
    """Read the trials of an interrupted search; empty for a new one. Raises `UsageError` for those of another space."""
    with runs.reading(folder.trials):
        trials = {trial.point: trial for trial in searched.trials(folder)}
        for point in trials:
            searched.require_within(point, [len(axis.values) for axis in space.axes])
    return trials
