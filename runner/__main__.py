"""`python -m runner`: the contents page of the program.

    command line ──app──▶ plan ──engine──▶ rows ──results──▶ results.csv ──report──▶ figures, report.html

Exit status: 0 all cases ok or skipped, 1 some case failed, 2 a mistake (also when every case is skipped), 130
interrupted.
"""

from __future__ import annotations

import io
import os
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from runner import interruption

if TYPE_CHECKING:
    from runner.folder import RunFolder

FAILED, MISTAKE, INTERRUPTED = 1, 2, 130


def main() -> int:
    """Run what the command line asks for, and say what came of it."""
    return run_command(_sweep)


def _sweep() -> RunFolder | None:
    from runner.command import app  # noqa: PLC0415

    return app.run(sys.argv[1:])


def run_command(work: Callable[[], RunFolder | None]) -> int:
    """Do what a command asks for, and say what came of it, whatever ends it.

    Args:
        work: Gives the folder of a sweep; `None` if there is none to report on. What it imports is imported by it, so
            that Ctrl-C is quiet from the start: importing takes half a second.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # not every terminal knows a micro sign
    interruption.listen()
    try:
        return _run_command(work)
    except KeyboardInterrupt:
        interruption.ignore()
        return INTERRUPTED


def _run_command(work: Callable[[], RunFolder | None]) -> int:
    try:
        folder = work()
        interruption.check()
    except KeyboardInterrupt:
        _save()
        raise
    except OSError as e:
        return _stopped(e)
    except Exception as e:
        from runner.command import app  # noqa: PLC0415
        from runner.errors import DeviceUnavailable, UsageError  # noqa: PLC0415

        if not isinstance(e, UsageError | DeviceUnavailable):
            raise
        app.discard_if_unused()
        return _say(str(e), MISTAKE)
    return 0 if folder is None else finish(folder)


def _save() -> None:
    """Of an interrupted sweep, keep what was finished."""
    from runner.command import app  # noqa: PLC0415

    app.discard_if_unused()
    if (folder := app.folder()) is not None and folder.results.exists():
        finish(folder)
        _say(f"interrupted; {_resume(folder)} does what is missing", INTERRUPTED)


def _stopped(error: OSError) -> int:
    """Say what the system refused, and where: a full disk names no file."""
    from runner.command import app  # noqa: PLC0415

    what, folder = error.strerror or str(error), app.folder()
    if folder is None:
        return _say(f"{error.filename or 'a file'}: {what}", FAILED)
    where = os.fsdecode(error.filename) if isinstance(error.filename, str | bytes) else ""
    if Path(where).absolute().is_relative_to(folder.path) or not where:
        where = str(folder.path)  # which of its files does not matter
    return _say(f"{where}: {what}; finished cases are kept, and {_resume(folder)} does what is missing", FAILED)


def _resume(folder: RunFolder) -> str:
    here = Path.cwd()
    path = folder.path.relative_to(here) if folder.path.is_relative_to(here) else folder.path
    return f"python -m runner.resume {shlex.quote(str(path))}"


def finish(folder: RunFolder) -> int:
    """Table, figures, report and summary from what the folder holds."""
    from runner import report  # noqa: PLC0415
    from runner.console import Console  # noqa: PLC0415
    from runner.sweep import plan, results  # noqa: PLC0415

    rows = results.collect(folder)
    try:
        plan.gather(folder)
        results.write(folder, rows)
        report.build(folder.path)
        report.print_summary(folder.path, Console())
    except OSError as e:
        return _say(f"{folder.path}: {e.strerror or e}; python -m runner.report makes the report again", FAILED)
    return results.exit_status(rows)


def _say(sentence: str, status: int) -> int:
    from runner.command.complaints import printable  # noqa: PLC0415

    print(f"runner: {printable(sentence)}", file=sys.stderr)  # noqa: T201
    return status


if __name__ == "__main__":
    sys.exit(main())
