"""`python -m runner`: the contents page of the program.

    command line ──app──▶ plan ──engine──▶ rows ──results──▶ results.csv ──report──▶ figures, report.html

Exit status: 0 all cases ok or skipped, 1 some case failed, 2 a mistake (also when every case is skipped), 130
interrupted.
"""

from __future__ import annotations

import sys

from rich.console import Console

from runner import app, plan, report, results
from runner.errors import DeviceUnavailable, Mistake
from runner.folder import RunFolder

INTERRUPTED = 130


def main() -> int:
    """Run what the command line asks for, and say what came of it."""
    try:
        folder = app.run(sys.argv[1:])
    except (Mistake, DeviceUnavailable) as e:
        app.discard_if_unused()
        print(f"runner: {e}", file=sys.stderr)  # noqa: T201
        return 2
    except KeyboardInterrupt:
        if (folder := app.folder()) is not None:
            finish(folder)
        return INTERRUPTED
    return 0 if folder is None else finish(folder)


def finish(folder: RunFolder) -> int:
    """Table, figures, report and summary from what the folder holds."""
    plan.gather(folder)
    rows = results.collect(folder)
    results.write(folder, rows)
    report.build(folder.path)
    report.print_summary(folder.path, Console())
    return results.exit_status(rows)


if __name__ == "__main__":
    sys.exit(main())
