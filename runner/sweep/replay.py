"""`device=replay`: the rows of a recording in place of measurements.

A recording is a run folder, or a T4 file. A row of a run folder belongs to the same case; an entry of a T4 file to the
case with the same values of its parameters.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from runner import runs, sources, t4
from runner.config import Job
from runner.device.kinds import KINDS, REPLAY, is_gpu
from runner.errors import UsageError
from runner.folder import RunFolder
from runner.samples import append_round
from runner.statistics import SAMPLE, of_rounds
from runner.sweep import results
from runner.sweep.ledger import Ledger
from runner.sweep.results import Row
from runner.terminal import SweepProgress

MISSING = "the recording has no such case"
_OF_THE_RECORDING = ("job", "launcher")  # columns that a replayed row has of its own


@dataclass(frozen=True)
class Recording:
    """What was measured before."""

    name: str
    cases: Mapping[str, Row]  # by the case's id; of a run folder
    parameters: tuple[str, ...]  # of a T4 file
    results: Mapping[tuple[str, ...], t4.Result]  # of a T4 file, by the values of its parameters
    folder: RunFolder | None  # that has the samples
    device: str = REPLAY  # the kind on which the results of a T4 file were measured

    def has(self, job: Job) -> bool:
        """Whether the recording has the job's case."""
        return job.case.id in self.cases or self._key(job) in self.results

    def varied(self, names: Sequence[str]) -> dict[str, list[Any]]:
        """The parameters, of these, that have several values in the recording."""
        if self.cases:
            rows: list[Mapping[str, Any]] = list(self.cases.values())
        else:
            rows = [result.configuration for result in self.results.values()]
        found = {n: list(dict.fromkeys(row[n] for row in rows if row.get(n) not in (None, t4.NONE))) for n in names}
        return {name: values for name, values in found.items() if len(values) > 1}

    def combinations(self, names: Sequence[str], fixed: Mapping[str, Any]) -> set[tuple[str, ...]] | None:
        """The values of some parameters that a T4 file has together, where the others are fixed; `None` for a run."""
        if not self.parameters:
            return None
        places = [self.parameters.index(name) for name in names if name in self.parameters]
        others = [(n, plain(fixed[name])) for n, name in enumerate(self.parameters) if name in fixed]
        rows = (values for values in self.results if all(values[n] == value for n, value in others))
        return {tuple(values[n] for n in places) for values in rows} if len(places) == len(names) else None

    def row(self, job: Job, launcher: str) -> tuple[Row, t4.Result | None]:
        """The job's row, and the entry of a T4 file that it comes from."""
        if found := self.cases.get(job.case.id):
            own = {name: value for name, value in found.items() if name not in _OF_THE_RECORDING}
            return {**own, "launcher": launcher, "job": job.number}, None
        result = self.results.get(self._key(job))
        if result is None:
            return results.unfinished(job, REPLAY, launcher, "skipped", f"{self.name}: {MISSING}"), None
        reason = "" if result.status == "ok" else f"{self.name} calls it {result.status}"
        row = results.unfinished(job, self.device, launcher, result.status, reason)
        times: Row = {"rounds": 1, "samples": len(result.times_us), "median_us": result.time_us}
        return ({**row, "reason": None, **times} if result.status == "ok" else row), result

    def _key(self, job: Job) -> tuple[str, ...]:
        values = {"kernel": job.case.kernel.name, **dict(job.case.parameters)}
        return tuple(plain(values.get(name)) for name in self.parameters)


def plain(value: Any) -> str:
    """A value as text: 16, 16.0 and "16" are one."""
    return str(int(value)) if isinstance(value, float | bool) and float(value).is_integer() else str(value)


@lru_cache(maxsize=4)
def read(name: str) -> Recording:
    """Read a recording; a `UsageError` if there is none of that name, or nothing in it."""
    if not name:
        raise UsageError("device=replay: name the recording by device.recording=, a run folder or a T4 file")
    path = Path(name)
    if path.is_file():
        entries, metadata = t4.read(path)
        parameters = tuple(entries[0].configuration)
        found = {tuple(plain(e.configuration[p]) for p in parameters): e for e in entries}
        kind = str(metadata.get("device"))
        return Recording(path.name, {}, parameters, found, None, kind if kind in KINDS else REPLAY)
    folder = RunFolder(runs.one(name))
    with runs.reading(name):
        rows = [{**row, "job": int(row["job"])} for row in results.collect(folder) if row["status"] != "not_run"]
        if not rows:
            raise UsageError(f"{name}: no case of this run is finished, so there is nothing to replay")
        rows.sort(key=lambda row: is_gpu(row["device"]))  # a GPU's row counts more
        return Recording(folder.path.name, {str(row["case"]): row for row in rows}, (), {}, folder)


def run(plan: Sequence[Job], folder: RunFolder, progress: SweepProgress, launcher: str) -> None:
    """Give each job of a plan its recorded row and samples."""
    recording = read(plan[0].device.recording)  # before this folder is a run: `latest` would be itself
    ledger = Ledger(plan, folder, launcher)
    sources.keep(folder, ledger.jobs)
    _note(folder, recording)
    todo = ledger.unfinished(ledger.jobs)
    progress.stage("replaying", len(todo))
    for job in todo:
        if job.case.excluded:
            ledger.mark(job, "skipped", job.case.excluded)
        else:
            _replay(job, recording, ledger, folder)
        progress.step()
        progress.row(job.case.label, ledger.row(job) or {})
    ledger.write()


def _replay(job: Job, recording: Recording, ledger: Ledger, folder: RunFolder) -> None:
    row, result = recording.row(job, ledger.launcher)
    target = folder.samples(job.case.id, job.number)
    if result is not None and len(result.times_us):
        times = result.times_us[: job.look or None]  # a search's look is at the first ones
        samples = np.zeros(len(times), SAMPLE)
        samples["us"], samples["round"] = times, 1
        summary = of_rounds(append_round(folder, target, samples, 1))
        names = ("samples", "median_us", "ci_low_us", "ci_high_us", "min_us", "q1_us", "q3_us")
        row |= dict(zip(names, dataclasses.astuple(summary), strict=True)) if result.status == "ok" else {}
    elif recording.folder and (found := recording.cases.get(job.case.id)):
        with suppress(FileNotFoundError):  # not every run keeps its samples
            folder.write(target, recording.folder.read(recording.folder.samples(job.case.id, found["job"])))
    ledger.add(job, row)


def _note(folder: RunFolder, recording: Recording) -> None:
    """Say in environment.json what was replayed, and with which devices it had been measured."""
    known = folder.json(folder.environment) or {}
    known["replayed"] = recording.name
    if recording.folder:
        known["devices"] = runs.section(runs.environment(recording.folder.path), "devices")
    elif "devices" not in known:
        known["devices"] = {}
    folder.write_json(folder.environment, known)


def refuse_mixed(plan: Sequence[Job]) -> None:
    """Refuse a plan of recordings and devices, or of two recordings."""
    if len({job.device.key if job.device.kind == REPLAY else "" for job in plan}) > 1:
        raise UsageError("device=replay: a sweep replays one recording, and nothing else")
