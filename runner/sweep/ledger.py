"""The rows of a sweep so far, always complete on disk: however the program ends, finished cases can be read."""

from __future__ import annotations

import time
from collections.abc import Sequence

from runner.config import Job
from runner.folder import RunFolder, read_json, write_json
from runner.sweep import previous_rows, results
from runner.sweep.results import Row


class Ledger:
    """The rows of one engine: one per case, replaced as further rounds measure it."""

    def __init__(self, folder: RunFolder, launcher: str, known: dict[int, Row]) -> None:
        """Start with the rows of an earlier run of the same sweep.

        Args:
            folder: Of the sweep.
            launcher: Of Hydra; stands in each row.
            known: Rows of an earlier run, by job.
        """
        self._folder = folder
        self.launcher = launcher
        self._rows = dict(known)
        self._stale = bool(known)  # whether the table lacks a row
        self._due = 0.0  # when the table may be written again
        self._kinds: dict[int, str] = {}  # of the devices that were opened: never `auto`

    @property
    def empty(self) -> bool:
        """Whether there is no row yet."""
        return not self._rows

    def opened(self, group: Sequence[Job], kind: str) -> None:
        """Note the kind of device on which the jobs of a group run."""
        self._kinds.update({job.number: kind for job in group})

    def row(self, job: Job) -> Row | None:
        """The row of a case, if there is one."""
        return self._rows.get(job.number)

    def wants(self, job: Job, number: int) -> bool:
        """Whether a case is still to be measured in a round."""
        return not previous_rows.measured(self.row(job), number)

    def finished(self, job: Job) -> bool:
        """Whether a case needs no further round."""
        return previous_rows.finished(job, self.row(job))

    def add(self, job: Job, row: Row) -> None:
        """Write a case's row to disk, in place of an earlier one."""
        write_json(self._folder.result(job.number), row)
        self._rows[job.number] = row
        self._stale = True
        if time.monotonic() >= self._due:
            self.write()

    def unfinished(self, job: Job, status: str, reason: str) -> None:
        """Add a row for a case that is not run."""
        kind = self._kinds.get(job.number, job.device.kind)
        self.add(job, results.unfinished(job, kind, self.launcher, status, reason))

    def mark_not_run(self, reason: str, plan: Sequence[Job]) -> None:
        """Add rows for those jobs that have none because they were not reached."""
        for job in plan:
            if self.row(job) is None and not self._was_being_added(job):
                self.unfinished(job, "not_run", reason)

    def _was_being_added(self, job: Job) -> bool:
        """Whether the row is on disk but not here: Ctrl-C can come between the two."""
        row = read_json(self._folder.result(job.number))
        if row is None or row["status"] == "not_run":
            return False
        self._rows[job.number] = row
        self._stale = True
        return True

    def write(self) -> None:
        """Rebuild results.csv. A long table is rebuilt so rarely that this takes at most a tenth of the time."""
        if not self._stale:
            return
        started = time.monotonic()
        own = [self._rows[job] for job in sorted(self._rows)]
        # A stock launcher runs each job in an engine of its own; the table is of them all.
        results.write(self._folder, own if self.launcher == "batch" else results.collect(self._folder))
        self._stale = False
        self._due = time.monotonic() + 9 * (time.monotonic() - started)
