"""Run stages on a finished sweep: what its user did not ask for before it ran."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path

from runner import report
from runner.cli import Options
from runner.commands.rerun import lock
from runner.commands.run_sweep import run_sweep
from runner.device.kinds import compiler_for, is_gpu
from runner.display.terminal import SweepProgress
from runner.errors import UsageError
from runner.jobs.job import Job
from runner.jobs.settings import LINES_ALL, LINES_FASTEST, RACES_ALL, SANITIZERS, ProfileConfig
from runner.record import environment, runs
from runner.record.shards import merge
from runner.stages.all import ON_DEMAND
from runner.stages.profile.stage import ProfileStage
from runner.sweep import engine
from runner.sweep.ledger import Ledger
from runner.sweep.pool import Pool
from runner.sweep.session import Session
from runner.sweep.stage import Bench


def profile(name: str, words: Sequence[str], cases: str, options: Options) -> int:
    """Run what the words ask for on a finished sweep, and write its report; returns the exit status of its rows.

    Args:
        name: The sweep's folder, or a name such as `latest`.
        words: Keys of `ON_DEMAND`, or `lines=all`.
        cases: For a GPU's measurements, one of `PROFILED`.
        options: The options of the command line.

    Raises:
        UsageError: The runner, a source or the device has changed since the sweep, or no case was measured.
        DeviceUnavailable: The device cannot be opened.
    """
    path = Path(name) if Path(name).exists() else runs.find_one(name)
    command = f"python -m runner profile {shlex.quote(str(path))} {' '.join(words)} --cases {cases}"
    session = Session(options, to_continue=command)
    return run_sweep(session, lambda: _profile(path, words, cases, session))


def _profile(path: Path, words: Sequence[str], cases: str, session: Session) -> None:
    sweep = lock(path, session)
    with runs.reading(path):
        merge(sweep.folder)
    jobs = [_with_request(job, words, cases) for job in sweep.jobs]
    rows = Ledger(jobs, sweep.folder, sweep.launcher)
    if rows.empty:
        raise UsageError(f"{path}: no case was measured yet; python -m runner resume {path} runs the sweep")
    names = {word.partition("=")[0] for word in words}
    stages = {name: stage for name, stage in ON_DEMAND.items() if name in names}
    report.prepare(times=is_gpu(sweep.jobs[0].device.kind))
    with SweepProgress(quiet=session.options.quiet) as progress, Pool() as pool:
        for name, stage in stages.items():
            if not any(stage.lacks(job, row, sweep.folder) for job in jobs if (row := rows.row(job))):
                progress.say(f"{name}: there is nothing to add to this sweep")
        if any(isinstance(stage, ProfileStage) for stage in stages.values()):
            _require_same_device(path, sweep.jobs[0], pool, progress)
        try:
            engine.run_stages([*stages.values()], Bench(rows, progress, pool, {}))
        finally:
            rows.write()


def _with_request(job: Job, words: Collection[str], cases: str) -> Job:
    """The job, requesting what the words name and nothing else."""
    metrics = job.profile.metrics or ["default"]
    wanted = ProfileConfig(
        metrics=metrics if {"ncu", "roofline"} & set(words) else [],
        cases=cases,
        roofline="roofline" in words,
        sanitizer=list(SANITIZERS) if "sanitizer" in words else False,
        energy="energy" in words,
    )
    lines = LINES_ALL if "lines=all" in words else LINES_FASTEST
    return replace(job, lines=lines, racecheck=RACES_ALL, profile=wanted)


def _require_same_device(path: Path, job: Job, pool: Pool, progress: SweepProgress) -> None:
    """Open the sweep's device. Raises UsageError if it is another one than the sweep's."""
    pool.open(job.device, progress.warn)
    info = pool.slots[0].worker(job.device).info
    compiler = compiler_for(job.device, info, job.compiler)
    environment.require_same_device(path, environment.device(info, job, compiler))
