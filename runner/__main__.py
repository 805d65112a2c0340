"""`runner`, or `python -m runner`: the program's entry point. `runner.cli.COMMANDS` lists the subcommands.

    command line ──compose──▶ jobs ──sweep──▶ rows ──record──▶ results.csv ──report──▶ figures, report.html

Exit status: 0 all cases are ok or skipped, 1 a case failed, 2 a mistake, or every case is skipped, 130 interrupted.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from types import ModuleType


def main() -> int:
    """Run the subcommand, or the sweep that the command line asks for."""
    try:
        return _run()
    except KeyboardInterrupt:  # before `run_command` handles signals
        sys.stderr.write("runner: interrupted\n")
        return 130


def _run() -> int:
    from runner.cli import COMMANDS, run_command, split  # noqa: PLC0415

    if {"-sc", "--shell-completion"} & set(sys.argv[1:]):
        from runner.commands.completion import main as complete  # noqa: PLC0415

        return run_command(lambda: complete(sys.argv[1:]))
    command, arguments = split(sys.argv[1:])
    if module := COMMANDS[command]:
        return run_command(lambda: int(_imported(module).main(arguments)))
    return run_command(lambda: _sweep(arguments))


def _imported(module: str) -> ModuleType:
    from runner import interruption  # noqa: PLC0415

    with interruption.held():
        return import_module(module)


def _sweep(arguments: Sequence[str]) -> int:
    from runner import __version__, interruption  # noqa: PLC0415
    from runner.cli import options  # noqa: PLC0415

    with interruption.held():
        from runner.sweep.session import Session, start_worker  # noqa: PLC0415

    wanted, rest = options(arguments)
    if "--version" in rest:
        sys.stdout.write(f"runner {__version__}\n")
        return 0
    # The worker starts before anything that is slow to import.
    session = Session(options=wanted, worker=None if wanted.dry_run else start_worker(rest))
    from runner.commands.sweep import run_sweep  # noqa: PLC0415

    def work() -> None:
        with interruption.held():
            from runner.compose import app  # noqa: PLC0415

        app.run(rest, session)

    return run_sweep(session, work)


if __name__ == "__main__":
    sys.exit(main())
