"""Reads what the steps of `profile` found out about the cases of a run. The folder may come from anybody."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from runner.display.text import absent
from runner.record.run import Run
from runner.record.runs import section

Row = dict[str, Any]

MOST = 1e30


def cases(run: Run, step: str) -> Iterator[tuple[Row, dict[str, Any]]]:
    """The measured cases that a step has something to say about, each with its record."""
    folder = run.folder
    if not _asked(run.plan):  # a sweep may have many jobs
        return
    for row in run.measured.rows:
        found = None if absent(row["job"]) else folder.json(folder.profile(int(row["job"])))
        record = section(found, step) if isinstance(found, dict) else {}
        if record and "reason" not in record:
            yield row, record


def _asked(plan: Any) -> bool:
    ways = plan.get("ways") if isinstance(plan, dict) else None
    return isinstance(ways, list) and any(isinstance(way, dict) and way.get("profile") for way in ways)


def numbers(values: Any) -> dict[str, float]:
    """The numbers of a mapping that a counter or a speed can have."""
    pairs = values.items() if isinstance(values, Mapping) else ()
    return {str(k): float(v) for k, v in pairs if isinstance(v, int | float) and 0 <= v < MOST}
