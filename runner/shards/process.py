"""`python -m runner.shards.process FOLDER NUMBER`: run one shard of a sweep, on the first GPU that this process sees.

The launchers of `runner.shards` start it. It goes on where an earlier start of the same shard ended.
"""

from __future__ import annotations

import platform
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from runner.device import DeviceInfo
from runner.device.kinds import compiler_for
from runner.display.terminal import SweepProgress
from runner.errors import CompileError, DeviceUnavailable, UsageError
from runner.jobs.job import Job
from runner.record import environment, samples, stored_sweep
from runner.record.folder import RunFolder
from runner.record.shards import REFERENCE, Attempt, ShardFolder, append_line, copy_row, require_one_toolchain, rows_of
from runner.stages.all import ALL
from runner.statistics import round_medians, unthrottled
from runner.sweep import engine
from runner.sweep.ledger import finished
from runner.sweep.worker import Worker


class _Progress(SweepProgress):
    """Tells the parent of each row, and what there is to say, by a line in a file."""

    def __init__(self, attempt: Attempt) -> None:
        super().__init__(quiet=True)
        self._attempt = attempt

    def row(self, label: str, row: Mapping[str, Any]) -> None:
        """Note a case that was measured in a round, or failed."""
        known = {name: row.get(name) for name in ("job", "device", "status", "rounds", "median_us")}
        append_line(self._attempt.rows, {"label": label, **known})

    def now(self, what: str) -> None:
        """The parent shows where the sweep is."""

    def say(self, text: str) -> None:
        """Have the parent say it."""
        append_line(self._attempt.rows, {"said": text, "warning": False})

    def warn(self, text: str) -> None:
        """Likewise, even if the parent is quiet."""
        append_line(self._attempt.rows, {"said": text, "warning": True})


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a shard; the exit status is 2 if it cannot start, and 130 if it was interrupted."""
    from runner.cli import run_command  # noqa: PLC0415

    folder, number = sys.argv[1:] if arguments is None else arguments
    return run_command(lambda: run(Path(folder), int(number)))


def run(path: Path, number: int) -> int:
    """Run what the shard lacks."""
    sweep = RunFolder(path.absolute())
    shard = ShardFolder(sweep, number)
    planned, own = shard.planned, set(shard.jobs)
    jobs = {job.number: job for job in stored_sweep.jobs_of(sweep, {*own, planned.get(REFERENCE, -1)})}
    if not own & jobs.keys():
        raise UsageError(f"{shard.path}: shard.json names no job of the sweep")
    first, worker = _opened([jobs[number] for number in sorted(own & jobs.keys())])
    reference = jobs.get(planned.get(REFERENCE, -1)) if worker.info.is_gpu else None
    plan = [job for number, job in sorted(jobs.items()) if number in own or job is reference]
    earlier = shard.attempts()
    attempt = shard.begin()
    attempt.lock()
    compiler = compiler_for(first.device, worker.info, first.compiler)
    entry = environment.device(worker.info, first, compiler)
    with suppress(CompileError):  # where the compiler does not work, each case says so
        _ = compiler.identity
        require_one_toolchain(sweep, entry)
    known: dict[str, Any] = {"host": platform.node()} if planned.get("record_host") else {}
    attempt.write_json(attempt.environment, known)
    _take_over([*reversed(earlier), sweep], attempt, plan, worker.info)
    try:
        with _Progress(attempt) as progress:
            engine.run(plan, attempt, progress, str(planned["launcher"]), worker, stages=ALL)
    finally:
        if reference:
            _note_reference(attempt, reference)
    return 0


def _opened(jobs: Sequence[Job]) -> tuple[Job, Worker]:
    """The first job whose device can be opened, with its worker. If there is none, the last worker's `info` raises."""
    firsts: dict[tuple[object, ...], Job] = {}  # of each device
    for job in jobs:
        firsts.setdefault(job.device.key, job)
    *others, last = firsts.values()
    for job in others:
        worker = Worker(job.device)
        try:
            _ = worker.info
        except DeviceUnavailable:
            worker.kill()
        else:
            return job, worker
    return last, Worker(last.device)


def _take_over(earlier: Sequence[RunFolder], attempt: Attempt, jobs: Sequence[Job], info: DeviceInfo) -> None:
    """Begin with the rows of the first folder that has them. A half-measured case of another GPU is measured anew."""
    left = {job.number: job for job in jobs}
    for folder in earlier:
        for number, row in rows_of(folder, list(left)):
            if finished(left[number], row) or (row.get("gpu") or "") == info.gpu:
                copy_row(folder, attempt, number, row)
                del left[number]


def _note_reference(attempt: Attempt, job: Job) -> None:
    """Note the medians of the rounds of the case that every shard measures."""
    row = attempt.json(attempt.result(job.number))
    taken = samples.read(attempt, attempt.samples(job.case.id, job.number))
    if not isinstance(row, dict) or taken is None or row.get("status") != "ok":
        return
    known = attempt.json(attempt.environment) or {}
    medians = [round(float(us), 4) for us in np.asarray(round_medians(unthrottled(taken)))]
    attempt.write_json(attempt.environment, {**known, REFERENCE: {"case": job.case.label, "rounds_us": medians}})


if __name__ == "__main__":
    sys.exit(main())
