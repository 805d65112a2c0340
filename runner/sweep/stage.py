"""What is asked of a sweep's cases besides their verdict and times.

A stage runs after these are on disk, and adds columns to the rows. The engine gets a list of stages and knows none by
name; `runner.stages` has the list.
"""

from __future__ import annotations

from typing import Any, Protocol

from runner.config import Job
from runner.folder import RunFolder
from runner.sweep.ledger import Ledger
from runner.terminal import SweepProgress


class Stage(Protocol):
    """What follows the timed rounds of a sweep. A module with these two functions is one."""

    def run(self, ledger: Ledger, folder: RunFolder, progress: SweepProgress, spent_s: float) -> None:
        """Look at the cases that lack it, and add what is found to their rows.

        Args:
            ledger: The rows, all on disk.
            folder: The sweep's, for records of the stage's own.
            progress: Where a stage of more than two seconds shows how far it is.
            spent_s: The seconds that the sweep took so far, of which a stage that nobody asked for takes a share.

        Raises:
            KeyboardInterrupt: After what is known is in the rows.
        """

    def lacks(self, job: Job, row: dict[str, Any] | None, folder: RunFolder) -> bool:
        """Whether a case still lacks it; `row` is None for one that has no times yet."""
