"""Run a sweep for a command and write its report. Finished cases are kept, even after an error or Ctrl-C."""

from __future__ import annotations

import errno
import os
import shlex
import sys
from collections.abc import Callable
from pathlib import Path

from runner import interruption, report
from runner.cli import FAILED, INTERRUPTED, MISTAKE, say
from runner.commands import preview
from runner.display.console import short_path
from runner.display.terminal import STREAMS, Console, naming_stream
from runner.errors import DeviceUnavailable, UsageError
from runner.record import stored_rows
from runner.record.folder import RunFolder
from runner.record.runs import reading
from runner.sweep import ledger
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
            _write_report(session.folder, session)
            sentence = f"interrupted; {session.to_continue or _command_to_resume(session.folder)} runs the rest"
            raise KeyboardInterrupt(say(sentence, INTERRUPTED)) from None
        raise
    except (UsageError, DeviceUnavailable):
        session.discard_if_unused()
        raise
    except BrokenPipeError:  # stdout was closed, as by `| head`
        raise
    except OSError as e:
        return _say_error(e, session.folder)
    finally:
        if worker := session.take_worker():  # not used by a sweep
            worker.kill()
    return _finish(session)


def _finish(session: Session) -> int:
    """Write the report of a completed sweep, and report cases that it is missing; returns the exit status."""
    folder, status = session.folder, 0
    if folder and session.options.dry_run:
        session.discard_if_unused()
        if session.search_plan:
            how = "it chooses its cases while it runs, so there is no plan to show"
            status = say(f"a search of {session.search_plan}; {how}. Nothing was run.", 0)
        else:
            status = preview.show(session.planned, session.launcher, session.options)
    elif folder and session.detached:
        say(f"the shards continue; {_command_to_resume(folder)} waits for them and writes the report", 0)
    elif folder:
        status = _write_report(folder, session)
    if folder and session.ended_early:
        sentence = "a GPU or a task was lost before all cases were measured"
        status = say(f"{sentence}; {_command_to_resume(folder)} runs the rest", status or FAILED)
    if session.left_out:
        status = say(f"left out, for the reasons above: {', '.join(session.left_out)}", status or MISTAKE)
    return status


def _say_error(error: OSError, folder: RunFolder | None) -> int:
    """Print an `OSError` with a path: a full disk's error has no file name. Returns the exit status."""
    what = error.strerror or str(error)
    where = os.fsdecode(error.filename) if isinstance(error.filename, str | bytes) else ""
    if folder is None:
        status = MISTAKE if error.errno == errno.ENAMETOOLONG else FAILED
        return say(f"{where or 'standard output or a file'}: {what}", status)
    if not where or Path(where).absolute().is_relative_to(folder.path):
        where = str(folder.path)  # the folder says enough
    if not folder.has(folder.plan) and not any(folder.has(folder.result(job)) for job in folder.jobs()):
        return say(f"{where}: {what}; nothing was measured", FAILED)
    return say(f"{where}: {what}; finished cases are kept, and {_command_to_resume(folder)} runs the rest", FAILED)


def _command_to_resume(folder: RunFolder) -> str:
    return f"python -m runner resume {shlex.quote(short_path(folder.path))}"


def _write_report(folder: RunFolder, session: Session) -> int:
    """Write table, figures, report and summary from the folder; returns the exit status of its rows."""
    try:
        options = session.options
        with reading(folder.path):  # a folder that is resumed may be damaged
            rows = stored_rows.collect(folder)
            if folder.has(folder.trials):  # a search plans its jobs while it runs
                ledger.gather_plan(folder)
            stored_rows.write(folder, rows)
        console = Console(stderr=options.json)
        report.publish(folder.path, console, brief=options.quiet, renderers=session.renderers)
        if options.json:
            with naming_stream():
                sys.stdout.write(stored_rows.as_json_lines(rows))
                sys.stdout.flush()
    except KeyboardInterrupt:
        command = f"python -m runner report {shlex.quote(short_path(folder.path))}"
        sentence = f"interrupted before the report was written; {command} writes the table and the report of all "
        raise KeyboardInterrupt(say(f"{sentence}finished cases", INTERRUPTED)) from None
    except BrokenPipeError:
        raise
    except OSError as e:
        where = e.filename if e.filename in STREAMS else folder.path
        return say(f"{where}: {e.strerror or e}; python -m runner report writes the report again", FAILED)
    return stored_rows.exit_status(rows)
