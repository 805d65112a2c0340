"""`python -m runner.repeat outputs/X`: the same sweep once more, and what is different from then.

The sweep's command is given again, with the configuration and the kernels that its folder keeps: so it works wherever
the folder lies by now, and whatever became of the files of then. The new sweep gets a folder of its own.

Exit status: 2 or 130 if the new sweep ended so; else that of the comparison, since a case that fails as it did then is
no news; 1 also if a case fails that was not run then. Without a common case, that of the sweep.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from runner import runs
from runner.__main__ import INTERRUPTED, MISTAKE, run_command

if TYPE_CHECKING:
    from runner.command.record import Record
    from runner.folder import RunFolder

MOST = 3  # missing files that are told


def main(arguments: Sequence[str] | None = None) -> int:
    """Repeat a sweep, and compare both."""
    parser = ArgumentParser(
        prog="python -m runner.repeat", description="Run a sweep again from its folder alone, and compare the two."
    )
    parser.add_argument("folder", help="a run's folder, such as outputs/DATE/TIME-WHAT, or `latest`")
    parser.add_argument("overrides", nargs="*", help="what is to be different, such as device=cpu timing=quick")
    given = parser.parse_args(arguments)
    original: Path | None = None

    def work() -> RunFolder | None:
        nonlocal original
        original = runs.one(given.folder)  # `latest` is another one afterwards
        return repeat(original, given.overrides)

    status = run_command(work)
    return status if original is None or status in (MISTAKE, INTERRUPTED) else _compared(original, status)


def repeat(path: Path, further: Sequence[str] = ()) -> RunFolder | None:
    """Run a sweep again.

    Args:
        path: Of its folder, in which nothing is written.
        further: Overrides; one takes the place of what was recorded for the same key.

    Raises:
        UsageError: if the folder does not tell what was run, or lacks what it was made of.
        DeviceUnavailable: if no device that is needed is there.
    """
    from runner import __version__, lock  # noqa: PLC0415  (see `run_command`)
    from runner.command import app, record  # noqa: PLC0415
    from runner.errors import UsageError  # noqa: PLC0415

    if lock.held(path):
        raise UsageError(f"{path}: a sweep is being run in this folder right now; repeat it when that has ended")
    found = record.read(path)
    _refuse_an_unfinished_list(path, found)
    _refuse_missing_files(path, found)
    then = runs.environment(path).get("runner")
    if then != __version__:
        sys.stderr.write(f"{path}: run by version {then or 'unknown'} of the runner, and now by {__version__}\n")
    return app.run(again(found, further))


def again(found: Record, further: Sequence[str]) -> list[str]:
    """The command of a sweep, after the program's name, that makes it anew from the sources it kept."""
    from runner.command import record  # noqa: PLC0415
    from runner.command.command_line import quoted  # noqa: PLC0415

    new = {_key(text) for text in further}
    dropped = {"hydra.sweep.dir", "hydra.searchpath", *new}
    overrides = [text for text in found.overrides if _key(text) not in dropped]
    if found.searchpath and "hydra.searchpath" not in new:  # what lay in folders was kept with the rest
        packages = [quoted(place) for place in found.searchpath if place.startswith("pkg://")]
        overrides.append(f"hydra.searchpath=[{','.join(packages)}]")
    overrides += further
    mode = [] if found.launcher == "none" or "hydra.mode" in map(_key, overrides) else ["-m"]
    conf = str((found.folder.sources / "conf").resolve())
    return [*mode, "--config-path", conf, *record.named(found.config_name), *overrides]


def _key(override: str) -> str:
    return override.partition("=")[0].lstrip("+~")


def _refuse_an_unfinished_list(path: Path, found: Record) -> None:
    """Refuse what a launcher told job by job until it was interrupted: of jobs after that, nothing was kept."""
    from runner.errors import UsageError  # noqa: PLC0415
    from runner.sweep import results  # noqa: PLC0415

    if not found.at_once and any(row["status"] == "not_run" for row in results.collect(found.folder)):
        raise UsageError(
            f"{path}: the sweep was interrupted, and its launcher told the jobs one by one, so that the "
            f"rest of them is not known here; python -m runner.resume finishes it first"
        )


def _refuse_missing_files(path: Path, found: Record) -> None:
    """Refuse a folder whose sources are no longer whole: a pattern such as kernel=glob(*) would not notice."""
    from runner.errors import UsageError  # noqa: PLC0415
    from runner.folder import read_json  # noqa: PLC0415

    folder = found.folder
    told = [read_json(folder.case(job)) or {} for job in folder.jobs()]
    # A module of a reference may have been installed: whether it is needed here, its kernel's YAML tells.
    files = {name for case in told for name in case.get("fingerprint", {}) if not name.endswith(".py")}
    kept = {path.name for path in folder.sources.rglob("*")}
    wanted = sorted({f"{found.config_name.removesuffix('.yaml')}.yaml", *files})
    if missing := [name for name in wanted if Path(name).name not in kept]:
        more = f" and {len(missing) - MOST} more" if len(missing) > MOST else ""
        raise UsageError(
            f"{path}: the sweep cannot be repeated from its folder, as its sources/ lacks "
            f"{', '.join(missing[:MOST])}{more}"
        )


def _compared(original: Path, status: int) -> int:
    """Compare the new sweep with that of then; the status is of the new one where it left no table."""
    from runner.command import app  # noqa: PLC0415
    from runner.folder import RunFolder  # noqa: PLC0415

    new = app.folder()
    if new is None or not new.results.exists():
        return status
    from runner.compare.__main__ import main as compare  # noqa: PLC0415
    from runner.sweep import results  # noqa: PLC0415

    then = {row["case"] for row in results.collect(RunFolder(original))}
    now = results.collect(new)
    if then.isdisjoint(row["case"] for row in now):
        sys.stderr.write(f"runner: with what was changed, no case is one of {original}: there is nothing to compare\n")
        return status
    try:
        compared = compare([str(original), str(new.path), "--html", str(new.path / "compare.html")])
        failed = any(row["status"] not in results.FINE for row in now if row["case"] not in then)
        return compared or int(failed)
    except KeyboardInterrupt:
        return INTERRUPTED


if __name__ == "__main__":
    sys.exit(main())
