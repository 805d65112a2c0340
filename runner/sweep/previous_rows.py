"""Rows that an earlier run of the sweep left in its folder."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from runner.config import Job
from runner.folder import RunFolder, read_json
from runner.sweep.results import Row


def rows(plan: Sequence[Job], folder: RunFolder) -> dict[int, Row]:
    """The rows of jobs that were run, by number; none in a new folder."""
    return {job.number: row for job in plan if (row := _row(job, folder))}


def finished(job: Job, row: Row | None) -> bool:
    """Whether a job has its row, and all its rounds if the row is ok."""
    return row is not None and measured(row, job.timing.protocol(row["device"]).rounds)


def measured(row: Row | None, rounds: int) -> bool:
    """Whether a job needs no further measuring in so many rounds. One that failed is not tried again."""
    return row is not None and (row["status"] != "ok" or (row.get("rounds") or 0) >= rounds)


def _row(job: Job, folder: RunFolder) -> Row | None:
    """A job's row; `None` if it was not reached, or if a power cut tore the samples of its rounds."""
    row = read_json(folder.result(job.number))
    if not isinstance(row, dict) or row.get("case") != job.case.id or row.get("status") in (None, "not_run"):
        return None
    if row["status"] != "ok":
        return row
    files = [folder.samples(job.case.id, job.number)]
    if row.get("hot_samples"):
        files.append(folder.hot_samples(job.case.id, job.number))
    return row if row.get("rounds") and all(_holds(f, row["rounds"]) for f in files) else None


def _holds(path: Path, rounds: int) -> bool:
    """Whether a file of samples has all of those rounds."""
    try:
        found = set(np.load(path)["round"].tolist())
    except (OSError, ValueError, EOFError, IndexError):
        return False
    return found >= set(range(1, rounds + 1))
