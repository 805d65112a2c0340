"""Run a sweep for a command and write its report. Finished cases are kept, even after an error or Ctrl-C.

Slow imports are inside functions, so that Ctrl-C during the start prints no traceback.
"""

from __future__ import annotations

import errno
import os
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from runner import interruption
from runner.cli import FAILED, INTERRUPTED, MISTAKE, Options, say
from runner.errors import DeviceUnavailable, UsageError

if TYPE_CHECKING:
    from runner.record.folder import RunFolder
    from runner.sweep.session import Session


def run_sweep(session: Session, work: Callable[[], object]) -> int:
    """Run a sweep's cases and report on them. Finished cases are kept, even after an error or Ctrl-C.

    Args:
        session: Receives the sweep's folder from `work`.
        work: Runs the cases.

    Returns:
        The exit status of the sweep's rows; 0 if there was nothing to run, as after `--help`.

    Raises:
        KeyboardInterrupt: Ctrl-C or another signal; the table and report of the finished cases are written.
        UsageError: The command line or a file is invalid.
        DeviceUnavailable: A device cannot be opened.
    """
    try:
        work()
        interruption.check()
    except KeyboardInterrupt:
        session.discard_if_unused()
        if session.folder and session.folder.results.exists():
            _finish(session.folder, session.options)
            raise KeyboardInterrupt(
                say(f"interrupted; {_command_to_resume(session.folder)} runs the rest", INTERRUPTED)
            ) from None
        raise
    except (UsageError, DeviceUnavailable):
        session.discard_if_unused()
        raise
    except BrokenPipeError:  # stdout was closed, as by `| head`
        raise
    except OSError as e:
        return _stopped(e, session.folder)
    finally:
        if worker := session.take_worker():  # not used by a sweep
            worker.kill()
    if session.options.dry_run and session.folder:
        from runner.commands.preview import show  # noqa: PLC0415

        session.discard_if_unused()
        status = show(session.planned, session.launcher, session.options)
    elif session.detached and session.folder:
        status = say(
            f"the shards continue; {_command_to_resume(session.folder)} waits for them and writes the report", 0
        )
    else:
        status = _finish(session.folder, session.options) if session.folder else 0
    return _lacking(session, status)


def _lacking(session: Session, status: int) -> int:
    """Report cases that a completed sweep is missing; returns the exit status."""
    if session.ended_early and session.folder:
        how = _command_to_resume(session.folder)
        status = say(f"a GPU or a task was lost before all cases were measured; {how} runs the rest", status or FAILED)
    if session.left_out:
        say(f"left out, for the reasons above: {', '.join(session.left_out)}", MISTAKE)
        return status or MISTAKE
    return status


def _stopped(error: OSError, folder: RunFolder | None) -> int:
    """Report an `OSError` with a path: a full disk's error has no file name. Returns the exit status."""
    what = error.strerror or str(error)
    where = os.fsdecode(error.filename) if isinstance(error.filename, str | bytes) else ""
    if folder is None:
        return say(f"{where or 'a file'}: {what}", MISTAKE if error.errno == errno.ENAMETOOLONG else FAILED)
    if not where or Path(where).absolute().is_relative_to(folder.path):
        where = str(folder.path)  # the folder says enough
    if not folder.has(folder.plan) and not any(folder.has(folder.result(job)) for job in folder.jobs()):
        return say(f"{where}: {what}; nothing was measured", FAILED)
    return say(f"{where}: {what}; finished cases are kept, and {_command_to_resume(folder)} runs the rest", FAILED)


def _command_to_resume(folder: RunFolder) -> str:
    return f"python -m runner.resume {_here(folder)}"


def _here(folder: RunFolder) -> str:
    from runner.display.console import short_path  # noqa: PLC0415

    return shlex.quote(short_path(folder.path))


def _finish(folder: RunFolder, options: Options) -> int:
    """Write what `_written` does, and tell how to get it if Ctrl-C ends that."""
    try:
        return _written(folder, options)
    except KeyboardInterrupt:
        how = f"python -m runner.report {_here(folder)} writes the table and the report of all finished cases"
        raise KeyboardInterrupt(say(f"interrupted before the report was written; {how}", INTERRUPTED)) from None


def _written(folder: RunFolder, options: Options) -> int:
    """Write table, figures, report and summary from the folder; returns the exit status of its rows."""
    from runner import report  # noqa: PLC0415
    from runner.display.terminal import Console  # noqa: PLC0415
    from runner.record import stored_rows  # noqa: PLC0415
    from runner.sweep import ledger  # noqa: PLC0415

    rows = stored_rows.collect(folder)
    try:
        ledger.gather_plan(folder)
        stored_rows.write(folder, rows)
        report.publish(folder.path, Console(stderr=options.json), brief=options.quiet)
        if options.json:
            sys.stdout.write(stored_rows.as_json_lines(rows))
    except BrokenPipeError:
        raise
    except OSError as e:
        return say(f"{folder.path}: {e.strerror or e}; python -m runner.report writes the report again", FAILED)
    return stored_rows.exit_status(rows)
