"""Run a stored sweep, with the sources in its folder: only the missing cases (`resume`), or all (`repeat`)."""

from __future__ import annotations

import re
import shutil
import sys
from datetime import UTC, datetime
from pathlib import Path

from runner import __version__
from runner.device.kinds import compiler_for
from runner.display.terminal import SweepProgress
from runner.errors import UsageError
from runner.record import environment, runs
from runner.record.folder import RunFolder, slug
from runner.record.shards import merge
from runner.record.stored_sweep import StoredSweep, changed_sources, read
from runner.shards import parent
from runner.stages.all import ALL
from runner.sweep import engine, ledger, local
from runner.sweep.ledger import Ledger
from runner.sweep.pool import Pool
from runner.sweep.session import Session
from runner.sweep.worker import Worker

ONE_BY_ONE = "its jobs were planned one by one, so the folder lacks those that it had not reached"


def resume(path: Path, session: Session) -> None:
    """Run the cases and rounds that are missing from a sweep's folder.

    Args:
        path: The sweep's folder.
        session: Receives the folder; its `ended_early` is set if a shard ended early.

    Raises:
        UsageError: The runner, sources, device or toolchain changed since the run. The rows are then left as they are.
        DeviceUnavailable: The device cannot be opened.
    """
    found = _taken_up(path, session)
    with runs.reading(path):
        merge(found.folder)
        known = ledger.previous_rows(found.jobs, found.folder)
        keys = {
            job.key
            for job in found.jobs
            if (row := known.get(job.number))
            and ledger.finished(job, row)
            and not any(stage.lacks(job, row, found.folder) for stage in ALL)
        }
    missing = list({job.key: job for job in found.jobs if job.key not in keys}.values())
    done = sum(job.key in keys for job in found.jobs)
    found.folder.remove_temporary_files()
    words = f"{path}: {done} of {len(found.jobs)} cases are finished; running the rest, with the folder's own code"
    settings = {"replicate": False, **runs.section(runs.environment(path), "launcher"), "wait": True}
    if missing and found.launcher in ("gpus", "slurm"):
        _note_resumed(found.folder)
        with SweepProgress(quiet=session.options.quiet) as progress:
            progress.say(words)
            session.ended_early = not (
                local.run(found.jobs, found.folder, progress, settings, ALL)
                if found.launcher == local.NAME
                else parent.run(found.jobs, found.folder, progress, settings)
            )
    elif missing:
        with SweepProgress(quiet=session.options.quiet) as progress:
            session.worker = Worker(missing[0].device)
            info = session.worker.info
            compiler = compiler_for(missing[0].device, info, missing[0].compiler)
            environment.require_same_device(path, environment.device(info, missing[0], compiler))
            _note_resumed(found.folder)
            progress.say(words)
            with Pool(worker=session.take_worker()) as pool:
                engine.run(Ledger(found.jobs, found.folder, found.launcher), progress, pool, stages=ALL)
    else:
        ledger.write_plan(found.jobs, found.folder, found.launcher)  # a power cut may have damaged a case.json
        sys.stderr.write(
            f"{path}: the sweep is complete: {done} of {done} cases are finished; writing its report again\n"
        )
    if found.one_by_one:
        sys.stderr.write(f"{path}: {ONE_BY_ONE}\n")


def is_search(path: Path) -> bool:
    """Whether a folder holds a search, which chooses its cases while it runs."""
    folder = RunFolder(path)
    return path.is_dir() and folder.has(folder.trials)


def resume_search(path: Path, session: Session) -> RunFolder | None:
    """Lock the folder of an interrupted search and prepare it for resuming.

    Returns:
        The folder, or `None` if the search is complete.
    """
    found = _taken_up(path, session)
    if not found.folder.unfinished:
        sys.stderr.write(f"{path}: the search is complete; writing its report again\n")
        return None
    found.folder.remove_temporary_files()
    _note_resumed(found.folder)
    measured = len(found.folder.text(found.folder.trials).splitlines())
    sys.stderr.write(f"{path}: the search continues after {measured} cases, with the folder's own code\n")
    return found.folder


def repeat(path: Path, session: Session) -> None:
    """Run a sweep again in a new folder. The old folder is only read."""
    found = read_to_repeat(path)
    old, known = found.folder, runs.environment(path)
    what = slug(re.sub(r"^\d\d-\d\d-\d\d-", "", old.path.name)) or "sweep"
    new = session.reserve(runs.OUTPUTS / f"{datetime.now().astimezone():%Y-%m-%d/%H-%M-%S}-{what}")
    here = environment.gather((), record_host="host" in known)
    kept = {name: known[name] for name in ("command", "sources") if name in known}  # the run uses the stored kernels
    new.write_json(new.environment, {**here, **kept, "planned_at_once": True})
    for job in found.jobs:
        if (files := old.job(job.number) / ".hydra").is_dir():
            shutil.copytree(files, new.job(job.number) / ".hydra")
    if old.has(old.multirun):
        new.write(new.multirun, old.read(old.multirun))
    sys.stderr.write(f"{path}: running it again, with the folder's own code\n")
    with SweepProgress() as progress, Pool() as pool:
        engine.run(Ledger([job for job in found.jobs if not job.copy], new, "batch"), progress, pool, stages=ALL)
    if found.one_by_one:
        sys.stderr.write(f"{path}: {ONE_BY_ONE}\n")


def read_to_repeat(path: Path) -> StoredSweep:
    """Read a sweep's folder; warns on stderr if the runner or the stored sources have changed since."""
    found = read(path)
    for changed in changed_sources(found):
        sys.stderr.write(f"{path}: {changed} has changed since the run; the new run uses it as it is now\n")
    if (then := runs.environment(path).get("runner")) != __version__:
        sys.stderr.write(
            f"{path}: the run used version {then or 'unknown'} of the runner; this is version {__version__}\n"
        )
    return found


def _taken_up(path: Path, session: Session) -> StoredSweep:
    """Read and lock a sweep to resume.

    Raises:
        UsageError: environment.json is unreadable, or the runner or a source has changed.
    """
    found = read(path)
    session.resume(found.folder)
    if not (known := runs.environment(path)):
        raise UsageError(f"{path}: environment.json is missing or corrupt; start a new sweep")
    if (then := known.get("runner")) != __version__:
        raise UsageError(
            f"{path}: the runner has changed from version {then} to {__version__} since the run; restore it or start a "
            f"new sweep"
        )
    if changed := next(changed_sources(found), None):
        raise UsageError(f"{path}: {changed} has changed since the run; restore it or start a new sweep")
    return found


def _note_resumed(folder: RunFolder) -> None:
    """Append the time to `resumed_utc` in environment.json."""
    known = folder.json(folder.environment)
    known.setdefault("resumed_utc", []).append(datetime.now(UTC).isoformat(timespec="seconds"))
    folder.write_json(folder.environment, known)
