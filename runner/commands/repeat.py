"""`python -m runner repeat outputs/X`: run a sweep again in a new folder, from its folder alone, and compare the two.

It uses the jobs and sources that the folder stores. With overrides, Hydra composes the sweep again from the stored
configuration.

Exit status: 2 or 130 if the new sweep ended with it. Otherwise the comparison's, in which a case that already failed
before is not a change. 1 also if a case fails that the old sweep lacks. Without common cases, the new sweep's.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from runner.cli import Parser, run_function


def main(arguments: Sequence[str] | None = None) -> int:
    """Repeat a sweep and compare the two; returns the exit status."""
    description = "Run a sweep again from its folder alone, and compare the two. This runs the folder's code."
    parser = Parser("repeat", description)
    parser.add_argument("folder", help="a run's folder, such as outputs/DATE/TIME-WHAT, or `latest`")
    parser.add_argument("overrides", nargs="*", default=[], help="overrides to change, such as device=cpu timing=quick")
    parsed = parser.parse_args(arguments)
    return run_function("runner.commands.rerun:repeat", parsed.folder, parsed.overrides)


if __name__ == "__main__":
    sys.exit(main())
