"""Run a stored sweep, with the sources in its folder: only the missing cases (`resume`), or all (`repeat`)."""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from runner import __version__, report
from runner.cli import MISTAKE, Options
from runner.commands.run_sweep import run_sweep
from runner.compare.__main__ import main as compare
from runner.device.kinds import compiler_for, is_gpu
from runner.display.terminal import SweepProgress
from runner.errors import UsageError
from runner.record import environment, run, runs, stored_rows, stored_sweep
from runner.record.folder import RunFolder, slug
from runner.record.shards import merge
from runner.record.stored_sweep import StoredSweep, changed_sources
from runner.shards import parent
from runner.stages.all import ALL
from runner.sweep import engine, ledger, local
from runner.sweep.ledger import Ledger
from runner.sweep.pool import Pool
from runner.sweep.session import Session
from runner.sweep.worker import Worker

ONE_BY_ONE = "the jobs were planned one by one, so the folder lacks those that the run did not reach"


def resume(name: str, options: Options) -> int:
    """Run the cases and rounds that are missing from a sweep; returns the exit status of its rows.

    Raises DeviceUnavailable if the device cannot be opened; UsageError if the runner, sources, device or toolchain
    changed since the run. The rows are then left as they are.
    """
    session = Session(options)
    path = Path(name) if Path(name).exists() else runs.find_one(name)
    folder = RunFolder(path)
    is_search = path.is_dir() and folder.has(folder.trials)  # it chooses its cases while it runs
    return run_sweep(session, lambda: (_resume_search if is_search else _resume_sweep)(path, session))


def _resume_sweep(path: Path, session: Session) -> None:
    sweep = lock(path, session)
    with runs.reading(path):
        merge(sweep.folder)
        rows = ledger.previous_rows(sweep.jobs, sweep.folder)
        keys = {
            job.key
            for job in sweep.jobs
            if (row := rows.get(job.number))
            and ledger.is_finished(job, row)
            and not any(stage.lacks(job, row, sweep.folder) for stage in ALL)
        }
    missing = list({job.key: job for job in sweep.jobs if job.key not in keys}.values())
    done = sum(job.key in keys for job in sweep.jobs)
    sweep.folder.remove_temporary_files()
    message = f"{path}: {done} of {len(sweep.jobs)} cases are finished; running the rest, with the folder's own code"
    settings = {"replicate": False, **runs.section(runs.environment(path), "launcher"), "wait": True}
    if not missing:
        ledger.write_plan(sweep.jobs, sweep.folder, sweep.launcher)  # a power cut may have damaged a case.json
        message = f"{path}: the sweep is complete: {done} of {done} cases are finished; writing its report again"
        sys.stderr.write(f"{message}\n")
    else:
        report.prepare(times=is_gpu(missing[0].device.kind))
        with SweepProgress(quiet=session.options.quiet) as progress:
            if sweep.launcher in ("gpus", "slurm"):
                _note_resumed(sweep.folder)
                progress.say(message)
                session.ended_early = not (
                    local.run(sweep.jobs, sweep.folder, progress, settings, ALL)
                    if sweep.launcher == local.NAME
                    else parent.run(sweep.jobs, sweep.folder, progress, settings)
                )
            else:
                session.worker = Worker(missing[0].device)
                info = session.worker.info
                compiler = compiler_for(missing[0].device, info, missing[0].compiler)
                environment.require_same_device(path, environment.device(info, missing[0], compiler))
                _note_resumed(sweep.folder)
                progress.say(message)
                with Pool(worker=session.take_worker()) as pool:
                    engine.run(Ledger(sweep.jobs, sweep.folder, sweep.launcher), progress, pool, stages=ALL)
    if sweep.one_by_one:
        sys.stderr.write(f"{path}: {ONE_BY_ONE}\n")


def _resume_search(path: Path, session: Session) -> None:
    folder = lock(path, session).folder
    if not folder.unfinished:
        sys.stderr.write(f"{path}: the search is complete; writing its report again\n")
        return
    folder.remove_temporary_files()
    _note_resumed(folder)
    measured = len(folder.text(folder.trials).splitlines())
    sys.stderr.write(f"{path}: the search continues after {measured} cases, with the folder's own code\n")
    _compose_again(folder, [], session)


def repeat(name: str, overrides: Sequence[str]) -> int:
    """Run a sweep again in a new folder and compare the two; returns the exit status. The old folder is only read."""
    session = Session()
    path = runs.find_one(name)  # resolved now, because `latest` will be the new run
    old = RunFolder(path)
    if old.results.exists():
        with runs.reading(name):
            run.read(path)  # report a damaged table now, before the sweep

    def work() -> None:
        sweep = _read_to_repeat(path)
        if overrides:
            _compose_again(sweep.folder, overrides, session)
        else:
            _repeat_jobs(path, sweep, session)

    status = run_sweep(session, work)
    if status == MISTAKE or session.folder is None or not session.folder.results.exists():
        return status
    return _compare(old, session.folder, status)


def _repeat_jobs(path: Path, sweep: StoredSweep, session: Session) -> None:
    old, recorded = sweep.folder, runs.environment(path)
    suffix = slug(re.sub(r"^\d\d-\d\d-\d\d-", "", old.path.name)) or "sweep"
    new = session.reserve(runs.OUTPUTS / f"{datetime.now().astimezone():%Y-%m-%d/%H-%M-%S}-{suffix}")
    current = environment.gather((), record_host="host" in recorded)
    stored = {name: recorded[name] for name in ("command", "sources") if name in recorded}  # the run's kernels
    new.write_json(new.environment, {**current, **stored, "planned_at_once": True})
    for job in sweep.jobs:
        if (files := old.job(job.number) / ".hydra").is_dir():
            shutil.copytree(files, new.job(job.number) / ".hydra")
    if old.has(old.multirun):
        new.write(new.multirun, old.read(old.multirun))
    sys.stderr.write(f"{path}: running it again, with the folder's own code\n")
    report.prepare(times=is_gpu(sweep.jobs[0].device.kind))
    with SweepProgress() as progress, Pool() as pool:
        engine.run(Ledger([job for job in sweep.jobs if not job.copy], new, "batch"), progress, pool, stages=ALL)
    if sweep.one_by_one:
        sys.stderr.write(f"{path}: {ONE_BY_ONE}\n")


def _compare(old: RunFolder, new: RunFolder, status: int) -> int:
    """Compare two runs; returns the exit status. `status` is the new sweep's own."""
    before, now = stored_rows.collect(old), stored_rows.collect(new)
    cases = {row["case"] for row in before}
    if before and all(row["status"] == "not_run" for row in before):
        sys.stderr.write(f"runner: {old.path} has no finished case, so nothing is compared\n")
        return status
    if cases.isdisjoint(row["case"] for row in now):
        sys.stderr.write(f"runner: {old.path} has no case in common with the new run, so there is nothing to compare\n")
        return status
    compared = compare([str(old.path), str(new.path), "--html", str(new.path / "compare.html")])
    failed = any(row["status"] not in stored_rows.FINE for row in now if row["case"] not in cases)
    return compared or int(failed)


def _compose_again(folder: RunFolder, overrides: Sequence[str], session: Session) -> None:
    from runner.compose import app, recorded  # noqa: PLC0415  (Hydra is slow to import, and few sweeps need it here)

    app.run(recorded.arguments(folder, overrides), session)


def _read_to_repeat(path: Path) -> StoredSweep:
    """Read a sweep's folder; warns on stderr if the runner or the stored sources have changed since."""
    sweep = stored_sweep.read(path)
    for changed in changed_sources(sweep):
        sys.stderr.write(f"{path}: {changed} has changed since the run; the new run uses it as it is now\n")
    if (version := runs.environment(path).get("runner")) != __version__:
        sys.stderr.write(
            f"{path}: the run used version {version or 'unknown'} of the runner; this is version {__version__}\n"
        )
    return sweep


def lock(path: Path, session: Session) -> StoredSweep:
    """Read and lock a sweep to add results to it.

    Raises UsageError if environment.json is unreadable, or the runner or a source has changed.
    """
    sweep = stored_sweep.read(path)
    session.resume(sweep.folder)
    if not (recorded := runs.environment(path)):
        raise UsageError(f"{path}: environment.json is missing or corrupt; start a new sweep")
    if (version := recorded.get("runner")) != __version__:
        raise UsageError(
            f"{path}: the runner has changed from version {version} to {__version__} since the run; restore it or "
            f"start a new sweep"
        )
    if changed := next(changed_sources(sweep), None):
        raise UsageError(f"{path}: {changed} has changed since the run; restore it or start a new sweep")
    return sweep


def _note_resumed(folder: RunFolder) -> None:
    """Append the time to `resumed_utc` in environment.json."""
    recorded = folder.json(folder.environment)
    recorded.setdefault("resumed_utc", []).append(datetime.now(UTC).isoformat(timespec="seconds"))
    folder.write_json(folder.environment, recorded)
