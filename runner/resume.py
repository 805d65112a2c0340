"""`python -m runner.resume outputs/X`: what is missing in a sweep that was interrupted, and nothing else.

The sweep's own command is given again, after a look at whether it still means the same: rows of another kernel, device
or toolchain must not come into the same table.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from argparse import ArgumentParser
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from runner import runs
from runner.__main__ import run_command

if TYPE_CHECKING:
    from runner.command.record import Record
    from runner.config import Job
    from runner.folder import RunFolder

HERE = ("batch", "basic", "joblib", "none")  # launchers whose jobs run on this machine
SCRATCH = ".resuming"


def main(arguments: Sequence[str] | None = None) -> int:
    """Go on with a sweep; the exit status is that of its rows, 2 if it cannot be gone on with."""
    parser = ArgumentParser(prog="python -m runner.resume", description="Do what is missing in an interrupted sweep.")
    parser.add_argument("folder", help="a sweep's folder, such as outputs/DATE/TIME-WHAT, or `latest`")
    given = parser.parse_args(arguments)
    folder = Path(given.folder)  # `record` says what one lacks
    return run_command(lambda: _resumed(folder if folder.is_dir() else runs.one(given.folder)))


def _resumed(path: Path) -> RunFolder:
    from runner.errors import UsageError  # noqa: PLC0415  (see `run_command`)

    try:
        return resume(path)
    except (KeyError, TypeError, AttributeError) as e:
        raise UsageError(f"{path}: a file in it is none that the runner writes ({e!r})") from e


def resume(path: Path) -> RunFolder:
    """Run the cases and rounds that a sweep's folder lacks.

    Args:
        path: Of the folder.

    Raises:
        UsageError: if it is no sweep's folder, or not all would be as it was; nothing was changed then.
        DeviceUnavailable: if no device that is needed is there; likewise.
    """
    from runner import lock  # noqa: PLC0415  (see `run_command`)
    from runner.command import app, record  # noqa: PLC0415  (see `run_command`)
    from runner.command.taking_up import TakenUp  # noqa: PLC0415
    from runner.sweep import earlier, plan  # noqa: PLC0415  (see `run_command`)

    found = record.of_this_version(path)
    lock.take(found.folder.path)
    if found.directory.is_dir():
        os.chdir(found.directory)  # where the paths of the command lead somewhere
    with tempfile.TemporaryDirectory() as scratch:
        rehearsal = TakenUp(found, Path(scratch), rehearsal=True)
        app.run(rehearsal.arguments, rehearsal)
    jobs = rehearsal.planned
    _refuse_another_number(found, len(jobs))
    missing = earlier.missing(jobs, plan.described(jobs, found.launcher), found.folder)
    if found.launcher in HERE:
        _refuse_other_devices(missing, found.folder)
    again = found.folder.path / SCRATCH
    shutil.rmtree(again, ignore_errors=True)
    found.folder.sweep_up()
    _say(path, len(jobs), len(missing))
    if missing:
        _note(found.folder)
        try:
            app.run(found.arguments, TakenUp(found, again, rehearsal=False))
        finally:
            shutil.rmtree(again, ignore_errors=True)
    return found.folder


def _refuse_another_number(found: Record, now: int) -> None:
    """Refuse a sweep that has more or fewer jobs by now; how many it had is known where all were planned at once."""
    from runner.differences import between, refusal  # noqa: PLC0415
    from runner.folder import read_json  # noqa: PLC0415

    planned = read_json(found.folder.plan)
    then = planned["jobs"] if planned and found.at_once else max([now - 1, *found.folder.jobs()]) + 1
    if changed := between("the number of cases", then, now):
        raise refusal(changed)


def _refuse_other_devices(missing: Sequence[Job], folder: RunFolder) -> None:
    """Refuse to measure on another device, or with another toolchain, before anything is measured."""
    from runner.device.opening import compiler_for  # noqa: PLC0415
    from runner.differences import refusal  # noqa: PLC0415
    from runner.sweep import engine, opened  # noqa: PLC0415
    from runner.sweep.worker import Worker  # noqa: PLC0415

    for first in (group[0] for group in engine.measured_alike(missing)):
        if (then := opened.before(folder, first)) is None:
            continue
        worker = Worker(first.device)
        try:
            compiler = compiler_for(first.device, worker.info, first.compiler)
            changed = opened.changes(then, opened.entry(worker.info, first, compiler))
        finally:
            worker.close()
        if changed:
            raise refusal(changed)


def _note(folder: RunFolder) -> None:
    """Note in environment.json that the sweep was taken up again."""
    from runner.folder import read_json, write_json  # noqa: PLC0415

    known = read_json(folder.environment)
    known.setdefault("resumed_utc", []).append(datetime.now(UTC).isoformat(timespec="seconds"))
    write_json(folder.environment, known)


def _say(folder: Path, cases: int, missing: int) -> None:
    if missing:
        told = f"{cases - missing} of {cases} cases are finished; going on with the other {missing}"
    else:
        told = f"the sweep is complete: all {cases} cases are finished; table and report are made again"
    sys.stderr.write(f"{folder}: {told}\n")


if __name__ == "__main__":
    sys.exit(main())
