"""Measure the points of a search with the engine: a batch at a time, side by side with the best so far.

Each batch runs in a folder of its own below the search's, with one short round. So a case has few samples until it is
among the best; `looks` says how many at each level. A batch also measures the best case so far again, and the values of
the others are scaled by what that one took at first: a GPU that becomes warmer slows down both. At the end the best
case and all that cannot be told from it are measured anew, together and with the whole protocol.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence

from runner.device.kinds import kind_of
from runner.display.terminal import SweepProgress
from runner.jobs.job import Job
from runner.kernel import metrics
from runner.kernel.metrics import Metric
from runner.record import noise, runs, searched
from runner.record.folder import RunFolder
from runner.record.searched import Trial, Values
from runner.record.stored_rows import Row
from runner.search.contenders import Compared, compared, contenders
from runner.search.loop import HALVING, front
from runner.search.places import Places
from runner.search.space import Point, Space

FEWEST = 3  # samples of a case
MARGIN = 0.03  # of the best: cases within it cannot be told from it, where the objective has no ratios
DRIFT = 0.5  # a factor further from 1 than this is no drift, and is not applied


class Batches:
    """The jobs of a search, and how they are measured."""

    def __init__(
        self,
        folder: RunFolder,
        places: Places,
        progress: SweepProgress,
        job: Callable[[Point, int], Job],
        objectives: Sequence[Metric],
        looks: Sequence[int],
    ) -> None:
        """`job` makes the job of a point, with a number and the files of its folder; `looks`: samples by level."""
        self._folder, self._places, self._progress, self._job = folder, places, progress, job
        self._objectives, self._looks = objectives, looks
        self._numbers: dict[Point, int] = {}
        self._jobs: dict[int, Job] = {}
        self._best: tuple[float, int] | None = None  # of the highest level: the first objective, and its job
        self._compared: dict[Point, Compared | None] = {}  # by the first objective, drift taken out
        self._raw: dict[Point, tuple[float, str]] = {}  # the first objective as the table has it, and the GPU
        self._rehearsal = self._warned = False  # the former on the CPU device

    def measure(self, wanted: Mapping[Point, int]) -> dict[Point, Values | None]:
        """Measure points at their levels; `None` for one that failed."""
        jobs = {p: dataclasses.replace(self._new(p), look=self._looks[n]) for p, n in wanted.items()}
        beside = self._beside()
        points = {job.number: point for point, job in jobs.items()}
        measured: dict[Point, Values | None] = {}
        for own, rows in self._places.run(list(jobs.values()), beside):
            factor = self._factor(beside, rows)
            for job in own:
                point, values = points[job.number], self._values(job, rows.get(job.number))
                measured[point] = values and (values[0] * factor, *values[1:])
                if values:
                    self._note(point, job, rows[job.number], values[0], factor)
                elif rows.get(job.number, {}).get("status") == "ok" and not self._warned:
                    self._warned = True
                    names = " or ".join(m.name for m in self._objectives)
                    self._progress.warn(f"{job.case.label} has no value of {names}; such a case counts as failed")
        for point, values in measured.items():
            self._compare(point, wanted[point], values)
        return measured

    def take_up(self, trials: Mapping[Point, Trial]) -> None:
        """Take up what an interrupted search has measured."""
        for number, (point, trial) in enumerate(trials.items()):
            self._numbers[point] = number
            job = self._jobs[number] = self._job(point, number)
            row = self._folder.row(number)
            if trial.values and row and (raw := self._values(job, row)):
                self._note(point, job, row, raw[0], trial.values[0] / raw[0] if raw[0] else 1.0)
            self._compare(point, trial.level, trial.values)

    def near(self, trials: Sequence[Trial]) -> list[Trial]:
        """The best trials, and those that cannot be told from the best one. A rehearsal gives the best alone."""
        best = front(trials)
        if not best or best[0].values is None or len(best[0].values) > 1 or self._rehearsal:
            return best
        measured = {t.point: t for t in trials if t.values}
        known = {point: one for point in measured if (one := self._compared.get(point))}
        if len(known) < len(measured):
            limit = best[0].values[0] + MARGIN * abs(best[0].values[0])
            return [t for t in measured.values() if t.values and t.values[0] <= limit]
        devices = runs.section(self._folder.json(self._folder.environment) or {}, "devices")
        of_best = known[best[0].point].noise(noise.of_device(next(iter(devices.values()), {})))
        return [measured[point] for point in contenders({p: one.side for p, one in known.items()}, of_best)]

    def finish(self, best: Sequence[Point]) -> list[Point]:
        """Measure the best points anew, together, and those that the table would else have ahead of them; gives all."""
        chosen, further = list(best), list(best)
        while further:
            jobs = {point: self._jobs[self._numbers[point]] for point in chosen}
            count = f"{len(jobs):,} cases again, side by side" if len(jobs) > 1 else "case again"
            self._progress.say(f"measuring the best {count}")
            rows = self._places.anew(list(jobs.values()))
            for point, job in jobs.items():
                values, row = self._values(job, rows.get(job.number)), rows.get(job.number, {})
                self._raw[point] = values[0] if values else math.inf, str(row.get("gpu") or "")
            limit, gpu = min(self._raw[point] for point in chosen)
            ahead = sorted(
                (raw, p) for p, (raw, where) in self._raw.items() if raw < limit and (where == gpu or not gpu)
            )
            further = [point for _, point in ahead[: 1 if math.isinf(limit) else None] if not self._rehearsal]
            chosen += further
        return chosen

    def _new(self, point: Point) -> Job:
        number = self._numbers.setdefault(point, len(self._numbers))
        self._jobs[number] = self._job(point, number)
        return self._jobs[number]

    def _beside(self) -> list[Job]:
        """The best case so far, to be measured again."""
        if self._best is None:
            return []
        return [dataclasses.replace(self._jobs[self._best[1]], look=self._looks[-1])]

    def _factor(self, beside: Sequence[Job], rows: Mapping[int, Row]) -> float:
        """By what a device's values are multiplied, so that its drift, or which GPU it is, makes no difference."""
        again = self._values(beside[0], rows.get(beside[0].number)) if beside else None
        if not again or not again[0] or self._best is None:
            return 1.0
        found = self._best[0] / again[0]
        return found if abs(found - 1) < DRIFT else 1.0

    def _note(self, point: Point, job: Job, row: Row, raw: float, factor: float) -> None:
        """Note what `near` and `finish` need of a row."""
        self._compared[point] = compared({**job.case.variables, **_timed(row)}, self._objectives[0], factor)
        self._raw[point] = raw, str(row.get("gpu") or "")
        self._rehearsal = not row.get(metrics.TIME)

    def _compare(self, point: Point, level: int, values: Values | None) -> None:
        """Take a point as the one beside which the others are measured, if it is the best of the highest level."""
        if level == len(self._looks) - 1 and values and (self._best is None or values[0] < self._best[0]):
            self._best = (values[0], self._numbers[point])

    def _values(self, job: Job, row: Row | None) -> Values | None:
        if row is None or row.get("status") != "ok":
            return None
        names = {**_timed(row), **job.case.variables}
        values = tuple(metric(names) for metric in self._objectives)
        if any(value is None or not math.isfinite(value) for value in values):
            return None
        return tuple(
            float(v) if m.better != "higher" else -float(v)
            for v, m in zip(values, self._objectives, strict=True)
            if v is not None
        )


def _timed(row: Row) -> Row:
    """The row; in a rehearsal on the CPU device, with its time in place of a GPU's."""
    us = metrics.any_time(row)
    return row if us is None or row.get(metrics.TIME) else {**row, **dict.fromkeys(metrics.OF_LAUNCHES, us)}


def looks(job: Job, objectives: int) -> list[int]:
    """The samples of a case at each level: at the highest one as many as the fewest of a round.

    There is only this level where samples cost little beside what else is measured, and for two objectives.
    """
    found = [job.timing.protocol(kind_of(job.device)).min_samples]
    while found[0] // HALVING >= FEWEST and not job.profile.asks and objectives == 1:
        found.insert(0, found[0] // HALVING)
    return found


def read(folder: RunFolder, space: Space) -> dict[Point, Trial]:
    """What was measured before; nothing in a new search. A `UsageError` if it is not of this space."""
    sizes = [len(axis.values) for axis in space.axes]
    with runs.reading(folder.told):
        known = {trial.point: trial for trial in searched.trials(folder)}
        for point in known:
            searched.require_within(point, sizes)
    return known
