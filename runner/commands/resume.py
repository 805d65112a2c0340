"""`python -m runner.resume outputs/X`: run the missing cases of an interrupted sweep."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from runner.cli import Options


def main(arguments: Sequence[str] | None = None) -> int:
    """Resume a sweep; returns the exit status of its rows, or 2 if it cannot be resumed."""
    from runner.cli import Parser, run_command  # noqa: PLC0415

    parser = Parser("resume", "Finish an interrupted sweep. This runs the folder's code.")
    parser.add_argument("folder", help="a sweep's folder, such as outputs/DATE/TIME-WHAT, or `latest`")
    parser.add_argument("--quiet", action="store_true", help="print only the result and the report's path")
    parser.add_argument(
        "--json", action="store_true", help="print all rows as JSON lines to stdout, the rest to stderr"
    )
    given, rest = parser.parse_known_args(arguments)
    if rest:
        parser.error(f"{rest[0]}: resume takes no overrides; repeat does")
    return run_command(lambda: _resumed(given.folder, Options(quiet=given.quiet, json=given.json)))


def _resumed(name: str, options: Options) -> int:
    from runner.commands import rerun  # noqa: PLC0415
    from runner.commands.sweep import run_sweep  # noqa: PLC0415
    from runner.record import runs  # noqa: PLC0415
    from runner.sweep.session import Session  # noqa: PLC0415

    session = Session(options)
    path = Path(name) if Path(name).exists() else runs.find_one(name)

    def work() -> None:
        if not rerun.is_search(path):
            return rerun.resume(path, session)
        folder = rerun.resume_search(path, session)
        if folder is None:
            return None
        from runner.compose import app, recorded  # noqa: PLC0415

        return app.run(recorded.arguments(folder, []), session)

    return run_sweep(session, work)


if __name__ == "__main__":
    sys.exit(main())
