"""`python -m runner`: the contents page of the program.

    command line ──hydra──▶ jobs ──sweep──▶ rows ──results──▶ results.csv ──report──▶ figures, report.html

Exit status: 0 all cases are ok or skipped, 1 a case failed, 2 a mistake, or every case is skipped, 130 interrupted.
"""

from __future__ import annotations

import sys


def main() -> int:
    """Run the sweep that the command line asks for."""
    from runner.cli import run_command  # noqa: PLC0415

    if sys.argv[1:2] == ["judge"]:
        from runner.judge import main as judge  # noqa: PLC0415

        return judge(sys.argv[2:])
    if sys.argv[1:2] == ["import"]:
        from runner.importer.__main__ import main as importer  # noqa: PLC0415

        return importer(sys.argv[2:])
    return run_command(_sweep)


def _sweep() -> int:
    from runner.session import Session, start_worker  # noqa: PLC0415

    session = Session(worker=start_worker(sys.argv[1:]))  # before everything that is slow to import
    from runner.cli import run_sweep  # noqa: PLC0415

    def work() -> None:
        from runner.hydra import app  # noqa: PLC0415

        app.run(sys.argv[1:], session)

    return run_sweep(session, work)


if __name__ == "__main__":
    sys.exit(main())
