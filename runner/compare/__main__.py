"""`python -m runner.compare outputs/A outputs/B`: what became of A's cases in B, and what may be the cause.

Exit status: 0 nothing is worse, 1 a case is slower or broken, 2 the input cannot be used, 3 with --strict where a case
was not decided upon.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from runner import runs
from runner.errors import UsageError

UNUSABLE, INTERRUPTED = 2, 130


def main(arguments: list[str] | None = None) -> int:
    """Compare the runs that the arguments name."""
    given = _parser().parse_args(arguments)
    try:
        from runner.compare import command  # noqa: PLC0415 - so that Ctrl-C is quiet from the start

        return command.run_command(given.runs, given.baseline, given.html, given.csv, strict=given.strict)
    except UsageError as mistake:
        return _say(str(mistake))
    except runs.MALFORMED as error:
        return _say(f"a file in one of the folders is none that the runner writes ({error!r})")
    except OSError as error:
        return _say(f"{error.filename or 'a file'}: {error.strerror or error}")
    except KeyboardInterrupt:
        return INTERRUPTED


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m runner.compare", description="Compare runs with a baseline.")
    named = "a run's folder, a pattern, latest, latest~1, ...; A,B: one that was made twice; the first is the baseline"
    parser.add_argument("runs", nargs="+", metavar="RUN", help=named)
    parser.add_argument("--baseline", metavar="RUN", help="the run that the others are compared with")
    parser.add_argument("--html", type=Path, metavar="FILE", help="write a page")
    parser.add_argument("--csv", type=Path, metavar="FILE", help="write a table")
    parser.add_argument("--strict", action="store_true", help="exit with 3 if a case was not decided upon")
    return parser


def _say(text: str) -> int:
    from runner.report.text import plain  # noqa: PLC0415 - see above

    sys.stderr.write(f"runner: {plain(text)}\n")
    return UNUSABLE


if __name__ == "__main__":
    sys.exit(main())
