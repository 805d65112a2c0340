"""`runner`, or `python -m runner`: the program's entry point. `runner.cli.COMMANDS` lists the subcommands.

    command line ──compose──▶ jobs ──sweep──▶ rows ──record──▶ results.csv ──report──▶ figures, report.html

Exit status: 0 all cases are ok or skipped, 1 a case failed, 2 a mistake, or every case is skipped, 130 interrupted.
"""

from __future__ import annotations

import os
import sys

HIDING = ("runner.py", "runner/__init__.py")  # files of a folder that `python -m runner` runs there in our place


def main() -> int:
    """Run the subcommand, or the sweep that the command line asks for."""
    try:
        from runner.cli import COMMANDS, run_function, split  # noqa: PLC0415  (Ctrl-C is quiet from here on)

        words = sys.argv[1:]
        if name := next((name for name in HIDING if _hides(name)), ""):
            sys.stderr.write(
                f"runner: {name} in this folder runs in place of `python -m runner`; write `runner` here\n"
            )
        if {"-sc", "--shell-completion"} & set(words):
            return run_function("runner.commands.completion:main", words)
        command, arguments = split(words)
        return run_function(f"{COMMANDS[command]}:main", arguments)
    except KeyboardInterrupt:  # before `run_command` handles signals
        sys.stderr.write("runner: interrupted\n")
        return 130


def _hides(name: str) -> bool:
    """Whether a file of the working folder hides this program from `python -m`."""
    own = os.path.join(os.path.dirname(os.path.dirname(__file__)), name)  # noqa: PTH118, PTH120  (pathlib is slow)
    return os.path.exists(name) and not (os.path.exists(own) and os.path.samefile(name, own))  # noqa: PTH110, PTH121


if __name__ == "__main__":
    sys.exit(main())
