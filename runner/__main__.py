"""`python -m runner`: the contents page of the program.

    command line ──app──▶ plan ──engine──▶ rows ──results──▶ results.csv ──report──▶ figures, report.html

Exit status: 0 all cases ok or skipped, 1 some case failed, 2 a mistake (also when every case is skipped), 130
interrupted.
"""

from __future__ import annotations

import io
import signal
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from runner.folder import RunFolder

FAILED, MISTAKE, INTERRUPTED = 1, 2, 130


def main() -> int:
    """Run what the command line asks for, and say what came of it."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # not every terminal knows a micro sign
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # a batch system's way to press Ctrl-C
    try:
        return _run()
    except KeyboardInterrupt:
        return INTERRUPTED


def _run() -> int:
    # Imported here, so that Ctrl-C is quiet from the start: importing takes half a second.
    from runner import app  # noqa: PLC0415
    from runner.errors import DeviceUnavailable, Mistake  # noqa: PLC0415

    try:
        folder = app.run(sys.argv[1:])
    except (Mistake, DeviceUnavailable) as e:
        app.discard_if_unused()
        return _say(str(e), MISTAKE)
    except KeyboardInterrupt:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # what was finished is kept, however often the key is pressed
        app.discard_if_unused()
        if (folder := app.folder()) is not None and folder.results.exists():
            finish(folder)
        raise
    except OSError as e:
        return _say(f"{e.filename or 'a file'}: {e.strerror or e}; the finished cases are in {app.folder()}", FAILED)
    return 0 if folder is None else finish(folder)


def finish(folder: RunFolder) -> int:
    """Table, figures, report and summary from what the folder holds."""
    from rich.console import Console  # noqa: PLC0415

    from runner import plan, report, results  # noqa: PLC0415

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
    print(f"runner: {sentence}", file=sys.stderr)  # noqa: T201
    return status


if __name__ == "__main__":
    sys.exit(main())
