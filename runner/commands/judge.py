"""`python -m runner.judge --kernel K --baseline B`: check that K is correct and faster than B.

For CI and for programs that write kernels: one command, an exit status, and `verdict.json` in the run's folder.

Exit status: 0 correct and faster in every case, 1 wrong, 2 usage error, 3 correct but not faster, 4 correct but
undecided (always so on the CPU device, whose times say nothing about a GPU), 130 interrupted.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from runner.cli import Parser, run_function


def main(arguments: Sequence[str] | None = None) -> int:
    """Judge a kernel against a baseline; returns the exit status."""
    parser = Parser("judge", "Check that a kernel is correct, and faster than a baseline.")
    parser.add_argument("--kernel", required=True, help="the kernel to judge")
    parser.add_argument("--baseline", required=True, help="the kernel to compare with")
    parser.add_argument("--config-dir", help="the folder with your own kernel/NAME.yaml")
    parser.add_argument("overrides", nargs="*", default=[], help="such as size=2**20,2**24 block=256")
    parsed = parser.parse_args(arguments)
    return run_function(
        "runner.commands.judgement:judge", parsed.kernel, parsed.baseline, parsed.config_dir, parsed.overrides
    )


if __name__ == "__main__":
    sys.exit(main())
