"""The options of a command that reports to a CI system, and what they write. Fast to import, for --help."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from runner.errors import UsageError
from runner.files import named_file

if TYPE_CHECKING:
    from runner.ci.results import Results


@dataclass(frozen=True)
class Targets:
    """Where the results go."""

    junit: Path | None = None
    sarif: Path | None = None
    github: bool = False

    def __bool__(self) -> bool:
        return bool(self.files) or self.github

    @property
    def files(self) -> tuple[Path, ...]:
        """The files to write."""
        return tuple(path for path in (self.junit, self.sarif) if path)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add --junit, --sarif and --github to a command."""
    github = "print annotations of a GitHub workflow, and append a summary to $GITHUB_STEP_SUMMARY"
    parser.add_argument("--junit", type=Path, metavar="FILE", help="write the cases as JUnit XML")
    parser.add_argument("--sarif", type=Path, metavar="FILE", help="write findings, with file and line, as SARIF 2.1.0")
    parser.add_argument("--github", action="store_true", help=github)


def parsed(options: argparse.Namespace) -> Targets:
    """The targets that the options name."""
    return Targets(options.junit, options.sarif, options.github)


def refuse_same(paths: Sequence[Path]) -> None:
    """Raise `UsageError` if a path is named twice, or is a folder."""
    for number, path in enumerate(paths):
        named_file.require(path)
        if named_file.resolved(path) in map(named_file.resolved, paths[:number]):
            raise UsageError(f"{path}: two options name this file; give each its own")


def write(targets: Targets, make: Callable[[], Results], *, quiet_stdout: bool = False) -> None:
    """Write the results to all targets.

    Args:
        targets: Where they go.
        make: Makes the results; called only if there is a target.
        quiet_stdout: Whether annotations go to stderr, which GitHub reads, too, because stdout is JSON.

    Raises:
        UsageError: A file cannot be written.
    """
    if not targets:
        return
    from runner.ci import github, junit, sarif  # noqa: PLC0415 - only for those who asked

    results = make()
    for path, form in ((targets.junit, junit), (targets.sarif, sarif)):
        if path:
            named_file.write(path, form.text(results).encode(errors="replace"))
    if targets.github:
        (sys.stderr if quiet_stdout else sys.stdout).write(github.text(results))
        github.append_summary(results)
