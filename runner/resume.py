"""`python -m runner.resume outputs/X`: run what an interrupted sweep lacks, and nothing else.

The jobs come from the sweep's folder, and so do their sources: a kernel that changed since does not matter. Device and
toolchain must be the same, since their rows enter one table.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from runner.config import Job
    from runner.recorded import RecordedSweep
    from runner.session import Session

ONE_BY_ONE = "its jobs were planned one by one, and any that were not planned yet are not known here"


def main(arguments: Sequence[str] | None = None) -> int:
    """Resume a sweep; the exit status is that of its rows, or 2 if it cannot be resumed."""
    parser = ArgumentParser(prog="python -m runner.resume", description="Run what an interrupted sweep lacks.")
    parser.add_argument("folder", help="a sweep's folder, such as outputs/DATE/TIME-WHAT, or `latest`")
    given = parser.parse_args(arguments)
    from runner.cli import run_command  # noqa: PLC0415

    return run_command(lambda: _resumed(given.folder))


def _resumed(name: str) -> int:
    from runner import runs  # noqa: PLC0415
    from runner.cli import run_sweep  # noqa: PLC0415
    from runner.session import Session  # noqa: PLC0415

    session = Session()
    path = Path(name) if Path(name).is_dir() else runs.one(name)
    return run_sweep(session, lambda: resume(path, session))


def resume(path: Path, session: Session) -> None:
    """Run the cases and rounds that a sweep's folder lacks.

    Args:
        path: Of the folder.
        session: Learns the folder.

    Raises:
        UsageError: if it cannot be resumed; nothing was changed then.
        DeviceUnavailable: if its device is not there.
    """
    from runner import recorded, runs  # noqa: PLC0415
    from runner.sweep import plan, previous_rows  # noqa: PLC0415

    found = recorded.read(path)
    session.resume(found.folder)
    _require_this_runner(path, found)
    recorded.require_same_sources(found)
    with runs.reading(path):
        known = previous_rows.rows(found.jobs, found.folder)
        keys = {job.key for job in found.jobs if previous_rows.finished(job, known.get(job.number))}
    missing = list({job.key: job for job in found.jobs if job.key not in keys}.values())
    done = sum(job.key in keys for job in found.jobs)
    found.folder.sweep_up()
    if missing:
        _run(found, missing, f"{path}: {done} of {len(found.jobs)} cases are finished; running the rest")
    else:
        plan.write(found.folder, plan.described(found.jobs, found.launcher))  # a power cut may have torn a case.json
        sys.stderr.write(f"{path}: the sweep is complete: all {done} cases are finished; rebuilding its report\n")
    if found.one_by_one:
        sys.stderr.write(f"{path}: {ONE_BY_ONE}\n")


def _require_this_runner(path: Path, found: RecordedSweep) -> None:
    from runner import __version__  # noqa: PLC0415
    from runner.errors import UsageError  # noqa: PLC0415
    from runner.folder import read_json  # noqa: PLC0415

    known = read_json(found.folder.environment)
    if not isinstance(known, dict):
        raise UsageError(f"{path}: environment.json is missing or torn; start a new sweep")
    if (then := known.get("runner")) != __version__:
        raise UsageError(
            f"Cannot resume: the runner changed from {then} to {__version__}. Restore it or start a new sweep."
        )


def _run(found: RecordedSweep, missing: Sequence[Job], announcement: str) -> None:
    """Run what is missing, once the device is known to be the same."""
    from contextlib import closing  # noqa: PLC0415
    from datetime import UTC, datetime  # noqa: PLC0415

    from runner.device.opening import compiler_for  # noqa: PLC0415
    from runner.folder import read_json, write_json  # noqa: PLC0415
    from runner.progress import SweepProgress  # noqa: PLC0415
    from runner.sweep import device_record, engine  # noqa: PLC0415
    from runner.sweep.compile import Prefetch  # noqa: PLC0415

    first = missing[0]
    with closing(Prefetch(first, len(missing))) as prefetch, SweepProgress() as progress:
        info = prefetch.worker.info
        compiler = compiler_for(first.device, info, first.compiler)
        device_record.require_same(found.folder, device_record.entry(info, first, compiler))
        progress.say(announcement)
        known = read_json(found.folder.environment)
        known.setdefault("resumed_utc", []).append(datetime.now(UTC).isoformat(timespec="seconds"))
        write_json(found.folder.environment, known)
        engine.run(found.jobs, found.folder, progress, found.launcher, prefetch)


if __name__ == "__main__":
    sys.exit(main())
