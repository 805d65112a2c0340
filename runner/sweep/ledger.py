"""The rows of a sweep so far, kept whole on disk: whatever ends the program, what was finished can be read."""

from __future__ import annotations

import time
from collections.abc import Sequence

from runner.config import Job
from runner.folder import RunFolder, read_json, write_json
from runner.sweep import previous_rows, results
from runner.sweep.results import Row


class Ledger:
    """The rows of one engine: one a case, replaced as further rounds measure it."""

    def __init__(self, folder: RunFolder, launcher: str, plan: Sequence[Job], known: dict[int, Row]) -> None:
        """Start with what an earlier run of the same sweep has left.

        Args:
            folder: Of the sweep.
            launcher: Of Hydra; stands in each row.
            plan: What is to be run.
            known: Rows of an earlier run, by job.
        """
        self._folder = folder
        self.launcher = launcher
        self._plan = {p.number: p for p in plan}
        self._rows = dict(known)
        self._due = 0.0  # when the table may be written again
        self._kinds: dict[int, str] = {}  # of the devices that were opened: `auto` is none

    @property
    def empty(self) -> bool:
        """Whether there is no row yet."""
        return not self._rows

    def opened(self, group: Sequence[Job], kind: str) -> None:
        """Note which kind of device the cases of a group run on."""
        self._kinds.update({p.number: kind for p in group})

    def row(self, planned: Job) -> Row | None:
        """The row of a case, if there is one."""
        return self._rows.get(planned.number)

    def wants(self, planned: Job, number: int) -> bool:
        """Whether a case is still to be measured in a round."""
        return not previous_rows.measured(self.row(planned), number)

    def finished(self, planned: Job) -> bool:
        """Whether nothing of a case is missing."""
        return previous_rows.finished(planned, self.row(planned))

    def add(self, planned: Job, row: Row) -> None:
        """Put a case's row on disk, in place of an earlier one."""
        write_json(self._folder.result(planned.number), row)
        self._rows[planned.number] = row
        if time.monotonic() >= self._due:
            self.write()

    def unfinished(self, planned: Job, status: str, reason: str) -> None:
        """A row for a case that is not run."""
        kind = self._kinds.get(planned.number, planned.device.kind)
        self.add(planned, results.unfinished(planned, kind, self.launcher, status, reason))

    def mark_not_run(self, reason: str, plan: Sequence[Job]) -> None:
        """Rows for those of the cases that have none: they were not reached."""
        for planned in plan:
            if self.row(planned) is None and not self._was_being_added(planned):
                self.unfinished(planned, "not_run", reason)

    def _was_being_added(self, planned: Job) -> bool:
        """Whether a row is on disk that was not noted here any more: Ctrl-C comes at any moment."""
        row = read_json(self._folder.result(planned.number))
        if row is None or row["status"] == "not_run":
            return False
        self._rows[planned.number] = row
        return True

    def write(self) -> None:
        """Rebuild results.csv; of a long table not after each row, so that writing never takes more than a tenth."""
        if self.empty:
            return
        started = time.monotonic()
        own = [self._rows[job] for job in sorted(self._rows)]
        # A stock launcher runs each job in an engine of its own; the table is of them all.
        results.write(self._folder, own if self.launcher == "batch" else results.collect(self._folder))
        self._due = time.monotonic() + 9 * (time.monotonic() - started)
