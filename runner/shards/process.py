"""`python -m runner.shards.process FOLDER NUMBER`: run one shard of a sweep, on the first GPU that this process sees.

The launchers of `runner.shards` start it. It continues where an earlier start of the same shard ended.
"""

from __future__ import annotations

import platform
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from runner.device import DeviceInfo
from runner.device.kinds import compiler_for
from runner.display.terminal import SweepProgress
from runner.errors import CompileError, DeviceUnavailable, UsageError
from runner.jobs.job import Job
from runner.record import environment, samples, stored_sweep
from runner.record.environment import REFERENCE
from runner.record.folder import RunFolder
from runner.record.shards import Attempt, ShardFolder, append_line, copy_row, require_one_toolchain, rows_of
from runner.stages.all import ALL
from runner.sweep import engine
from runner.sweep.ledger import Ledger, is_finished
from runner.sweep.pool import Pool
from runner.sweep.worker import Worker


class _Progress(SweepProgress):
    """Writes each row and message as a line of a file that the parent reads."""

    def __init__(self, attempt: Attempt) -> None:
        super().__init__(quiet=True)
        self._attempt = attempt

    def row(self, label: str, row: Mapping[str, Any]) -> None:
        """Append a case that was measured in a round, or failed, to the rows of this attempt."""
        known = {name: row.get(name) for name in ("job", "device", "status", "rounds", "median_us")}
        append_line(self._attempt.rows, {"label": label, **known})

    def show_step(self, what: str) -> None:
        """Do nothing: the parent shows the progress."""

    def say(self, text: str) -> None:
        """Write a message for the parent to print."""
        append_line(self._attempt.rows, {"said": text, "warning": False})

    def warn(self, text: str) -> None:
        """Write a message that the parent prints even in quiet mode."""
        append_line(self._attempt.rows, {"said": text, "warning": True})


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a shard. Returns the exit status: 2 if it cannot start, 130 if it was interrupted."""
    from runner.cli import run_command  # noqa: PLC0415

    folder, number = sys.argv[1:] if arguments is None else arguments
    return run_command(lambda: run(Path(folder), int(number)))


def run(path: Path, number: int) -> int:
    """Run the unfinished jobs of a shard.

    Args:
        path: The sweep's folder.
        number: The shard's number.

    Raises:
        UsageError: shard.json names no job of the sweep.
    """
    sweep = RunFolder(path.absolute())
    shard = ShardFolder(sweep, number)
    planned, own = shard.planned, set(shard.jobs)
    jobs = {job.number: job for job in stored_sweep.jobs_of(sweep, {*own, planned.get(REFERENCE, -1)})}
    if not own & jobs.keys():
        raise UsageError(f"{shard.path}: shard.json names no job of the sweep")
    first, worker = _open_device([jobs[number] for number in sorted(own & jobs.keys())])
    reference = jobs.get(planned.get(REFERENCE, -1)) if worker.info.is_gpu else None
    plan = [job for number, job in sorted(jobs.items()) if number in own or job is reference]
    earlier = shard.attempts()
    attempt = shard.begin()
    attempt.lock()
    compiler = compiler_for(first.device, worker.info, first.compiler)
    entry = environment.device(worker.info, first, compiler)
    with suppress(CompileError):  # if the compiler does not work, each case reports it
        _ = compiler.identity
        require_one_toolchain(sweep, entry)
    known: dict[str, Any] = {"host": platform.node()} if planned.get("record_host") else {}
    attempt.write_json(attempt.environment, known)
    _copy_earlier_rows([*reversed(earlier), sweep], attempt, plan, worker.info)
    try:
        with _Progress(attempt) as progress, Pool(worker=worker) as pool:
            engine.run(Ledger(plan, attempt, str(planned["launcher"])), progress, pool, stages=ALL)
    finally:
        if reference:
            _note_reference(attempt, reference)
    return 0


def _open_device(jobs: Sequence[Job]) -> tuple[Job, Worker]:
    """Return the first job whose device opens, and its worker. If no device opens, the last worker's `info` raises."""
    firsts: dict[tuple[object, ...], Job] = {}  # the first job of each device
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


def _copy_earlier_rows(earlier: Sequence[RunFolder], attempt: Attempt, jobs: Sequence[Job], info: DeviceInfo) -> None:
    """Copy each job's row from the first folder that has it. One partly measured on another GPU starts again."""
    left = {job.number: job for job in jobs}
    for folder in earlier:
        for number, row in rows_of(folder, list(left)):
            if is_finished(left[number], row) or (row.get("gpu") or "") == info.gpu:
                copy_row(folder, attempt, number, row)
                del left[number]


def _note_reference(attempt: Attempt, job: Job) -> None:
    """Record the median of each round of the reference case."""
    row = attempt.json(attempt.result(job.number))
    if isinstance(row, dict) and row.get("status") == "ok":
        medians = samples.medians_us(attempt, attempt.samples(job.case.id, job.number))
        known = attempt.json(attempt.environment) or {}
        reference = {"case": job.case.label, "rounds_us": [round(us, 4) for us in medians]}
        attempt.write_json(attempt.environment, {**known, REFERENCE: reference})


if __name__ == "__main__":
    sys.exit(main())
