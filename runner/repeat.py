"""`python -m runner.repeat outputs/X`: run a sweep again in a new folder, from its folder alone, and compare the two.

Jobs and sources are those that the folder keeps. With overrides, Hydra composes the sweep again from the kept
configuration.

Exit status: 2 or 130 if the new sweep ended so. Otherwise that of the comparison: a case that fails as it did before is
no news. 1 also if a case fails that the old sweep did not have. Without a common case, that of the new sweep.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from runner.folder import RunFolder
    from runner.recorded import RecordedSweep
    from runner.session import Session


def main(arguments: Sequence[str] | None = None) -> int:
    """Repeat a sweep, and compare both."""
    parser = ArgumentParser(
        prog="python -m runner.repeat", description="Run a sweep again from its folder alone, and compare the two."
    )
    parser.add_argument("folder", help="a run's folder, such as outputs/DATE/TIME-WHAT, or `latest`")
    parser.add_argument("overrides", nargs="*", help="overrides to change, such as device=cpu timing=quick")
    given = parser.parse_args(arguments)
    from runner.cli import run_command  # noqa: PLC0415

    return run_command(lambda: _repeated(given.folder, given.overrides))


def _repeated(name: str, overrides: Sequence[str]) -> int:
    from runner import runs  # noqa: PLC0415
    from runner.cli import MISTAKE, run_sweep  # noqa: PLC0415
    from runner.folder import RunFolder  # noqa: PLC0415
    from runner.session import Session  # noqa: PLC0415

    session = Session()
    original = runs.one(name)  # before `latest` names the new one
    status = run_sweep(session, lambda: repeat(original, overrides, session))
    if status == MISTAKE or session.folder is None or not session.folder.results.exists():
        return status
    return _compared(RunFolder(original), session.folder, status)


def repeat(path: Path, overrides: Sequence[str], session: Session) -> None:
    """Run a sweep again.

    Args:
        path: Of its folder, in which nothing is written.
        overrides: Overrides to change; each replaces the recorded override of the same key.
        session: Learns the new folder.

    Raises:
        UsageError: if the folder does not tell what was run, or lacks sources.
        DeviceUnavailable: if the device is not there.
    """
    from runner import __version__, lock, recorded, runs  # noqa: PLC0415
    from runner.errors import UsageError  # noqa: PLC0415
    from runner.resume import ONE_BY_ONE  # noqa: PLC0415

    if lock.held(path):
        raise UsageError(f"{path}: a sweep is running in this folder right now; repeat it when it has ended")
    found = recorded.read(path)
    if (then := runs.environment(path).get("runner")) != __version__:
        sys.stderr.write(f"{path}: run by version {then or 'unknown'} of the runner; this is version {__version__}\n")
    if overrides:
        from runner.hydra import app, recorded_command  # noqa: PLC0415

        app.run(recorded_command.again(found.folder, overrides), session)
        return
    _run(found, session)
    if found.one_by_one:
        sys.stderr.write(f"{path}: {ONE_BY_ONE}\n")


def _run(found: RecordedSweep, session: Session) -> None:
    """The same jobs, in a new folder."""
    import shutil  # noqa: PLC0415

    from runner import environment, runs  # noqa: PLC0415
    from runner.folder import write_json  # noqa: PLC0415
    from runner.progress import SweepProgress  # noqa: PLC0415
    from runner.sweep import engine  # noqa: PLC0415

    old = found.folder
    new = session.reserve(_name(old.path.name))
    known = runs.environment(old.path)
    here = environment.gather((), record_host="host" in known)
    write_json(new.environment, {**here, "command": known.get("command", here["command"]), "planned_at_once": True})
    for job in found.jobs:
        if (files := old.job(job.number) / ".hydra").is_dir():
            shutil.copytree(files, new.job(job.number) / ".hydra")
    if old.multirun.exists():
        shutil.copy(old.multirun, new.multirun)
    with SweepProgress() as progress:
        engine.run(found.jobs, new, progress, "none" if found.launcher == "none" else "batch")


def _name(old: str) -> Path:
    import re  # noqa: PLC0415
    from datetime import datetime  # noqa: PLC0415

    from runner import folder, runs  # noqa: PLC0415

    what = folder.named(re.sub(r"^\d\d-\d\d-\d\d-", "", old)) or "sweep"
    return runs.OUTPUTS / f"{datetime.now().astimezone():%Y-%m-%d/%H-%M-%S}-{what}"


def _compared(old: RunFolder, new: RunFolder, status: int) -> int:
    """Compare the new sweep with the old one."""
    from runner.compare.__main__ import main as compare  # noqa: PLC0415
    from runner.sweep import results  # noqa: PLC0415

    before = {row["case"] for row in results.collect(old)}
    now = results.collect(new)
    if before.isdisjoint(row["case"] for row in now):
        sys.stderr.write(f"runner: {old.path} has none of these cases, so there is nothing to compare\n")
        return status
    compared = compare([str(old.path), str(new.path), "--html", str(new.path / "compare.html")])
    failed = any(row["status"] not in results.FINE for row in now if row["case"] not in before)
    return compared or int(failed)


if __name__ == "__main__":
    sys.exit(main())
