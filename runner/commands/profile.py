"""`python -m runner profile outputs/X lines races code`: analyse a finished sweep further, with the sources in it."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from runner.cli import Options, Parser, run_function
from runner.jobs.settings import PROFILED

WORDS = {
    "races": "look for races in all variants that were not reached",
    "lines": "count what each line costs, in the fastest case of each kernel",
    "lines=all": "the same in all cases",
    "code": "disassemble the kernels that the sweep kept",
    "ncu": "counters of Nsight Compute",
    "roofline": "counters, and the ceilings of the GPU",
    "energy": "joules per launch",
    "sanitizer": "compute-sanitizer",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what the words ask for, and write the report again; returns the exit status of the sweep's rows."""
    explained = "; ".join(f"{word}: {text}" for word, text in WORDS.items())
    parser = Parser("profile", "Analyse a finished sweep further, and write its report again. Runs the folder's code.")
    parser.add_argument("folder", help="a sweep's folder, such as outputs/DATE/TIME-WHAT, or `latest`")
    parser.add_argument("what", nargs="+", choices=WORDS, metavar="WHAT", help=explained)
    cases = "cases for ncu, roofline, energy and sanitizer; default: fastest"
    parser.add_argument("--cases", choices=PROFILED, default="fastest", help=cases)
    parser.add_argument("--quiet", action="store_true", help="print only the result and the report's path")
    parsed = parser.parse_args(arguments)
    options = Options(quiet=parsed.quiet)
    return run_function("runner.commands.on_demand:profile", parsed.folder, parsed.what, parsed.cases, options)


if __name__ == "__main__":
    sys.exit(main())
