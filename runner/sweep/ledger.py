"""The jobs of a sweep on disk: case.json and plan.json before they run, result.json and results.csv after.

If the program is killed, finished cases stay readable and the plan still lists all jobs.
"""

from __future__ import annotations

import dataclasses
import threading
import time
from collections.abc import Sequence
from typing import Any

from runner.jobs.job import Job
from runner.kernel import metrics
from runner.kernel.metrics import TIME
from runner.record import samples, sources, stored_rows
from runner.record.folder import RunFolder
from runner.record.stored_rows import Row
from runner.sweep import case_row

SOON_S = 1.0  # before the first table is written: importing pandas must not delay a short sweep
PAUSE = 49.0  # between two tables, in multiples of the time that the last one took


class Rows:
    """The rows of jobs in progress: one per case, on disk after each round. Threads may add rows of different jobs."""

    def __init__(self, jobs: Sequence[Job], folder: RunFolder, launcher: str) -> None:
        """Begin without rows; results of earlier runs in the folder are replaced.

        Args:
            jobs: The jobs, without duplicates.
            folder: The folder of their rows, samples and records.
            launcher: The launcher's name, for the column of that name.
        """
        self.jobs, self.folder, self.launcher = list(jobs), folder, launcher
        self._rows: dict[int, Row] = {}
        self._kinds: dict[int, str] = {}  # kinds of the opened devices, never `auto`, by job

    @property
    def empty(self) -> bool:
        """Whether no case has a row yet."""
        return not self._rows

    def opened(self, jobs: Sequence[Job], kind: str) -> None:
        """Record the kind of device on which jobs run."""
        self._kinds.update({job.number: kind for job in jobs})

    def kind(self, job: Job) -> str:
        """The kind of a job's device; the requested kind, which may be `auto`, until the device is open."""
        return self._kinds.get(job.number, job.device.kind)

    def row(self, job: Job) -> Row | None:
        """The row of a case; `None` until it has one."""
        return self._rows.get(job.number)

    def lacks_round(self, job: Job, number: int) -> bool:
        """Whether a case must still be measured in the round of this number, counted from 1."""
        return not _has_rounds(self.row(job), number)

    def restart(self, job: Job) -> None:
        """Discard a case's row and records, so that it is measured again from its first round."""
        self._rows.pop(job.number, None)
        for path in self.folder.records(job.number):
            path.unlink(missing_ok=True)

    def unfinished(self, jobs: Sequence[Job]) -> list[Job]:
        """The jobs that lack a row or a round."""
        return [job for job in jobs if not is_finished(job, self.row(job))]

    def add(self, job: Job, row: Row) -> None:
        """Write a case's row to disk, replacing an earlier one."""
        self.folder.write_json(self.folder.result(job.number), row)
        self._rows[job.number] = row

    def mark(self, job: Job, status: str, reason: str) -> None:
        """Add the row of a case that is not run."""
        self.add(job, case_row.without_result(job, self.kind(job), self.launcher, status, reason))

    def mark_not_run(self, reason: str, jobs: Sequence[Job]) -> None:
        """Add `not_run` rows for the jobs that were not reached."""
        for job in jobs:
            if self.row(job) is None:
                self.mark(job, "not_run", reason)

    def write(self) -> None:
        """Write the table of all rows, if it is out of date. By default there is none."""


class Ledger(Rows):
    """The rows of a whole sweep, with its plan.json and results.csv."""

    def __init__(self, plan: Sequence[Job], folder: RunFolder, launcher: str) -> None:
        """Write the kernels' sources and the plan, and load the rows of an interrupted run of the sweep.

        Args:
            plan: All jobs, duplicates included.
            folder: The sweep's folder.
            launcher: The launcher's name, for the column of that name.
        """
        sources.keep(folder, plan)  # before the plan: with a plan, a folder can be resumed
        super().__init__(write_plan(plan, folder, launcher), folder, launcher)
        self._rows = previous_rows(self.jobs, folder)
        self._lock = threading.RLock()  # `write` reads the rows that other threads add
        self._stale = bool(self._rows)  # whether results.csv is out of date
        self._due = time.monotonic() + SOON_S  # when results.csv may be written again

    def add(self, job: Job, row: Row) -> None:
        """Write a case's row to disk, and now and then results.csv, which takes at most 2 % of the time."""
        with self._lock:
            super().add(job, row)
            self._stale = True
            if time.monotonic() >= self._due:
                self.write()

    def write(self) -> None:
        """Rebuild results.csv if it is out of date."""
        with self._lock:
            if not self._stale:
                return
            started = time.monotonic()
            stored_rows.write(self.folder, [self._rows[job] for job in sorted(self._rows)])
            self._stale = False
            self._due = time.monotonic() + PAUSE * (time.monotonic() - started)


def write_plan(plan: Sequence[Job], folder: RunFolder, launcher: str) -> list[Job]:
    """Write case.json of each job unless it exists, and plan.json.

    Returns:
        The jobs to run: the first of each group with equal keys. case.json of the others refers to it by `same_as`.
    """
    jobs = write_cases(plan, folder, launcher)
    gather_plan(folder)
    return jobs


def write_cases(plan: Sequence[Job], folder: RunFolder, launcher: str) -> list[Job]:
    """Write case.json of each job unless it exists; returns the jobs to run, as `write_plan`."""
    first: dict[tuple[str, ...], Job] = {}
    for job in plan:
        same = first.setdefault(job.key, job)
        if folder.json(folder.case(job.number)) is None:
            known = {} if same is job else {"same_as": same.number}
            folder.write_json(folder.case(job.number), {**case_record(job, launcher), **known})
    return list(first.values())


def gather_plan(folder: RunFolder) -> None:
    """Rebuild plan.json from case.json of all jobs, since a search plans its jobs in batches."""
    ways: list[dict[str, Any]] = []  # distinct settings of device and protocol; most sweeps have one
    cases = []
    declared: dict[str, Any] = {}  # metrics by kernel
    rank_by = TIME
    for number in folder.jobs():
        content = folder.record(number)
        if content and "same_as" not in content:
            if content["asked"] not in ways:
                ways.append(content["asked"])
            known = {name: content[name] for name in ("kernel", "parameters", "seed", "device")}
            cases.append({"case": content["case"], "job": number, **known, "way": ways.index(content["asked"])})
            cases[-1] |= {name: content[name] for name in ("copy", "look") if content.get(name)}
            if content.get("metrics"):
                declared[content["kernel"]] = content["metrics"]
                cases[-1] |= {"constants": content["constants"]} if content["constants"] else {}
            rank_by = content.get("rank_by", rank_by)
    ranking = {"metrics": declared, "rank_by": rank_by} if declared or rank_by != TIME else {}
    folder.write_json(folder.plan, {"jobs": len(folder.jobs()), "ways": ways, "cases": cases, **ranking})


def case_record(job: Job, launcher: str) -> dict[str, Any]:
    """The content of case.json: a case with its derived values, and its row until it is run."""
    case, kind = job.case, job.device.kind
    return {
        "case": case.id,
        "run": job.key,
        "label": case.label,
        "kernel": case.kernel.name,
        "parameters": dict(case.parameters),
        "seed": case.seed,
        "device": kind,
        "copy": job.copy,
        **({"look": job.look} if job.look else {}),
        "asked": job.requested,
        "timing": dataclasses.asdict(job.timing),
        "metrics": {m.name: m.plain for m in job.metrics},
        "constants": metrics.constants(job.metrics, case.variables),
        "rank_by": job.rank_by,
        "fingerprint": sources.fingerprint(case.kernel, job.origin.kernel),
        "excluded": case.excluded or None,
        "variables": case.variables,
        "grid": case.grid,
        "block": case.block,
        "shared_dynamic": case.shared,
        "macros": {} if case.excluded else dict(case.source().macros),
        "row": case_row.without_result(job, kind, launcher, "not_run", "not finished yet"),
    }


def previous_rows(plan: Sequence[Job], folder: RunFolder) -> dict[int, Row]:
    """The rows of an interrupted run of the sweep, by job; empty in a new folder."""
    return {job.number: row for job in plan if (row := _previous_row(job, folder))}


def is_finished(job: Job, row: Row | None) -> bool:
    """Whether a job has its row and, if the row is ok, all its rounds."""
    return row is not None and _has_rounds(row, job.protocol(row["device"]).rounds)


def _has_rounds(row: Row | None, rounds: int) -> bool:
    """Whether a job was measured in `rounds` rounds, or failed: a failed case is not tried again."""
    return row is not None and (row["status"] != "ok" or (row.get("rounds") or 0) >= rounds)


def _previous_row(job: Job, folder: RunFolder) -> Row | None:
    """A job's row; `None` if it was not reached, or if its samples are incomplete, as after a power cut."""
    row = folder.row(job.number)
    if row is None or row.get("case") != job.case.id or row["status"] == "not_run":
        return None
    if row["status"] != "ok":
        return row
    files = [folder.samples(job.case.id, job.number)]
    if row.get("hot_samples"):
        files.append(folder.hot_samples(job.case.id, job.number))
    rounds = row.get("rounds")
    if not isinstance(rounds, int) or rounds < 1:  # damaged
        return None
    return row if all(_has_all(samples.rounds(folder, file), rounds) for file in files) else None


def _has_all(found: set[int], rounds: int) -> bool:
    return rounds <= len(found) and found >= set(range(1, rounds + 1))
