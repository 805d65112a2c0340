"""What an earlier run of the same sweep left in its folder: rows that stay, if they are of what is to be run now."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from runner.config import Job
from runner.differences import between, of_files, refusal
from runner.folder import RunFolder, read_json
from runner.sweep.results import Row

Told = Mapping[str, Any]


def rows(plan: Sequence[Job], told: Mapping[int, Told], folder: RunFolder) -> dict[int, Row]:
    """The rows of cases that were run, by job; none in a new folder.

    Args:
        plan: What is to be run.
        told: What each job's case.json is to say.
        folder: Of the sweep.

    Raises:
        UsageError: if a job's case.json says something else: its row would be of that.
    """
    then = {job: content for job in told if (content := read_json(folder.case(job))) is not None}
    if changed := [phrase for job, content in then.items() for phrase in _changes(content, told[job])]:
        raise refusal(changed)
    return {p.number: row for p in plan if p.number in then and (row := _row(p, folder))}


def missing(plan: Sequence[Job], told: Mapping[int, Told], folder: RunFolder) -> list[Job]:
    """The jobs of which something is to be run yet; arguments and errors are those of `rows`."""
    known = rows(plan, told, folder)
    cases = {p.number: read_json(folder.case(p.number)) for p in plan}
    return [
        p
        for p in plan
        if (case := cases[p.number]) is None or not ("same_as" in case or finished(p, known.get(p.number)))
    ]


def finished(planned: Job, row: Row | None) -> bool:
    """Whether a case has its row, and if it is right, all its rounds."""
    return row is not None and measured(row, planned.timing.protocol(row["device"]).rounds)


def measured(row: Row | None, rounds: int) -> bool:
    """Whether a case needs no further measuring in so many rounds; one that failed is not tried again."""
    return row is not None and (row["status"] != "ok" or (row.get("rounds") or 0) >= rounds)


def _changes(then: Told, now: Told) -> Iterator[str]:
    now = json.loads(json.dumps(now))
    if then["kernel"] != now["kernel"]:
        yield from between("kernel", then["kernel"], now["kernel"])
        return  # its parameters are others, of course
    yield from between("", then["parameters"], now["parameters"])
    yield from between("seed", then["seed"], now["seed"])
    yield from between("device", then.get("asked", {}), now["asked"])
    yield from between("timing", then.get("timing", {}), now["timing"])
    yield from of_files(then.get("fingerprint", {}), now["fingerprint"])
    if then["parameters"] == now["parameters"]:
        yield from between("macro", then["macros"], now["macros"])


def _row(planned: Job, folder: RunFolder) -> Row | None:
    """A case's row; `None` if it was not reached, or if samples of its rounds are lost, as after a power cut."""
    row = read_json(folder.result(planned.number))
    if not isinstance(row, dict) or row.get("case") != planned.case.id or row.get("status") in (None, "not_run"):
        return None
    if row["status"] != "ok":
        return row
    files = [folder.samples(planned.case.id, planned.number)]
    if row.get("hot_samples"):
        files.append(folder.hot_samples(planned.case.id, planned.number))
    return row if row.get("rounds") and all(_holds(f, row["rounds"]) for f in files) else None


def _holds(path: Path, rounds: int) -> bool:
    """Whether a file of samples has all of those rounds."""
    try:
        found = set(np.load(path)["round"].tolist())
    except (OSError, ValueError, EOFError, IndexError):
        return False
    return found >= set(range(1, rounds + 1))
