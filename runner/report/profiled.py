"""Read the records of the `profile` stages from a run folder, which may come from an untrusted source."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from runner.display.text import absent
from runner.record.run import Run
from runner.record.runs import section

Row = dict[str, Any]

MAX_NUMBER = 1e30  # larger values are ignored


def cases(run: Run, stage: str) -> Iterator[tuple[Row, dict[str, Any]]]:
    """Yield the measured cases that a stage has profiled, each with its record."""
    ways = run.plan.get("ways") if isinstance(run.plan, dict) else None
    if not any(isinstance(way, dict) and way.get("profile") for way in (ways if isinstance(ways, list) else ())):
        return  # saves opening a file per job
    for row in run.measured.rows:
        content = None if absent(row["job"]) else run.folder.json(run.folder.profile(int(row["job"])))
        record = section(content, stage) if isinstance(content, dict) else {}
        if record and "reason" not in record:
            yield row, record


def numbers(values: Any) -> dict[str, float]:
    """Filter a mapping for plausible numbers: from 0 to `MAX_NUMBER`."""
    pairs = values.items() if isinstance(values, Mapping) else ()
    return {str(k): float(v) for k, v in pairs if isinstance(v, int | float) and 0 <= v < MAX_NUMBER}
