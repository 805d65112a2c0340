"""`python -m runner compare outputs/A outputs/B`: how A's cases changed in B, and the possible causes.

Exit status: 0 nothing is worse, 1 a case is slower or broken (with --fail-on-counted, also if a counted cost is worse),
2 the input cannot be used, 3 (with --strict) a case is inconclusive, not compared or missing, or a run is left out.
"""

from __future__ import annotations

import sys
from pathlib import Path

from runner.ci import targets
from runner.cli import Parser, run_function


def main(arguments: list[str] | None = None) -> int:
    """Compare the runs that the arguments name. Returns the exit status."""
    parser = Parser("compare", "Compare runs with a baseline.")
    runs = (
        "a run's folder, a pattern, latest, latest~1, ..., or A,B to pool repeated runs; the first RUN is the baseline "
        "unless --baseline names another"
    )
    strict = "exit with 3 if a case is inconclusive, not compared or missing, or if a run is left out"
    counted = "exit with 1 also if a line's sectors, wavefronts or divergent branches got worse"
    parser.add_argument("runs", nargs="+", metavar="RUN", help=runs)
    parser.add_argument("--baseline", metavar="RUN", help="the run that the others are compared with")
    parser.add_argument("--html", type=Path, metavar="FILE", help="write a page")
    parser.add_argument("--csv", type=Path, metavar="FILE", help="write a table")
    parser.add_argument("--strict", action="store_true", help=strict)
    parser.add_argument("--fail-on-counted", action="store_true", help=counted)
    targets.add_options(parser)
    options = parser.parse_args(arguments)
    return run_function("runner.compare.command:compare", options)


if __name__ == "__main__":
    sys.exit(main())
