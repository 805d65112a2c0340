"""`python -m runner.repeat outputs/X`: run a sweep again in a new folder, from its folder alone, and compare the two.

It uses the jobs and sources that the folder stores. With overrides, Hydra composes the sweep again from the stored
configuration.

Exit status: 2 or 130 if the new sweep ended with it. Otherwise the comparison's, in which a case that already failed
before is not a change. 1 also if a case fails that the old sweep lacks. Without common cases, the new sweep's.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from runner.record.folder import RunFolder


def main(arguments: Sequence[str] | None = None) -> int:
    """Repeat a sweep and compare the two; returns the exit status."""
    from runner.cli import Parser, run_command  # noqa: PLC0415

    parser = Parser(
        "repeat", "Run a sweep again from its folder alone, and compare the two. This runs the folder's code."
    )
    parser.add_argument("folder", help="a run's folder, such as outputs/DATE/TIME-WHAT, or `latest`")
    parser.add_argument("overrides", nargs="*", default=[], help="overrides to change, such as device=cpu timing=quick")
    given = parser.parse_args(arguments)
    return run_command(lambda: _repeated(given.folder, given.overrides))


def _repeated(name: str, overrides: Sequence[str]) -> int:
    from runner.cli import MISTAKE  # noqa: PLC0415
    from runner.commands import rerun  # noqa: PLC0415
    from runner.commands.sweep import run_sweep  # noqa: PLC0415
    from runner.record import runs  # noqa: PLC0415
    from runner.record.folder import RunFolder  # noqa: PLC0415
    from runner.sweep.session import Session  # noqa: PLC0415

    session = Session()
    original = runs.find_one(name)  # resolved now, because `latest` will be the new run
    if RunFolder(original).results.exists():
        from runner.record.run import read  # noqa: PLC0415

        with runs.reading(name):
            read(original)  # report a damaged table now, before the sweep

    def work() -> None:
        if not overrides:
            return rerun.repeat(original, session)
        from runner.compose import app, recorded  # noqa: PLC0415

        found = rerun.read_to_repeat(original)
        return app.run(recorded.arguments(found.folder, overrides), session)

    status = run_sweep(session, work)
    if status == MISTAKE or session.folder is None or not session.folder.results.exists():
        return status
    return _compared(RunFolder(original), session.folder, status)


def _compared(old: RunFolder, new: RunFolder, status: int) -> int:
    from runner.compare.__main__ import main as compare  # noqa: PLC0415
    from runner.record import stored_rows  # noqa: PLC0415

    rows = stored_rows.collect(old)
    if rows and all(row["status"] == "not_run" for row in rows):
        sys.stderr.write(f"runner: {old.path} has no finished case, so nothing is compared\n")
        return status
    before = {row["case"] for row in rows}
    now = stored_rows.collect(new)
    if before.isdisjoint(row["case"] for row in now):
        sys.stderr.write(f"runner: {old.path} has no case in common with the new run, so there is nothing to compare\n")
        return status
    compared = compare([str(old.path), str(new.path), "--html", str(new.path / "compare.html")])
    failed = any(row["status"] not in stored_rows.FINE for row in now if row["case"] not in before)
    return compared or int(failed)


if __name__ == "__main__":
    sys.exit(main())
