"""`python -m runner judge --kernel K --baseline B`: check that K is correct and faster than B.

`python -m runner judge FOLDER --baseline B` judges each kernel of a folder: NAME.cu with its own NAME.yaml, or without
one, and then it shares the YAML of B.

For CI and for programs that write kernels: one command, an exit status, and `verdict.json` in the run's folder.

Exit status: 0 correct and faster in every case, 1 wrong, 2 usage error or every case was skipped, 3 correct but not
faster, 4 correct but undecided (always so on the CPU device, whose times say nothing about a GPU), 130 interrupted. For
a folder it is that of the best candidate.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from runner.ci import targets
from runner.cli import Parser, run_function


def main(arguments: Sequence[str] | None = None) -> int:
    """Judge a kernel, or each kernel of a folder, against a baseline; returns the exit status."""
    parser = Parser("judge", "Check that a kernel is correct, and faster than a baseline.")
    words = (
        "a folder of candidates (NAME.cu, with or without NAME.yaml) instead of --kernel; overrides such as size=2**20"
    )
    parser.add_argument("--kernel", help="the kernel to judge")
    parser.add_argument("--baseline", required=True, help="the kernel to compare with")
    parser.add_argument("--config-dir", help="the folder with your own kernel/NAME.yaml")
    parser.add_argument("--json", action="store_true", help="print the verdict as JSON on stdout, all else on stderr")
    targets.add_options(parser)
    parser.add_argument("words", nargs="*", default=[], metavar="FOLDER | KEY=VALUE", help=words)
    return run_function("runner.commands.judgement:judge", parser.parse_intermixed_args(arguments))


if __name__ == "__main__":
    sys.exit(main())
