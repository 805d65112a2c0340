"""What is to be run: each case once, told in its job's folder, and all of them in plan.json."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from runner import results
from runner.config import Planned
from runner.folder import RunFolder, read_json, write_json


def distinct(plan: Sequence[Planned], folder: RunFolder, launcher: str) -> list[Planned]:
    """Each case once, however it was written; every job's case.json says which case it is."""
    first: dict[tuple[str, ...], Planned] = {}
    for planned in plan:
        told = _told(planned, launcher)
        if planned.key in first:
            told["same_as"] = first[planned.key].job
        write_json(folder.case(planned.job), told)
        first.setdefault(planned.key, planned)
    return list(first.values())


def gather(folder: RunFolder) -> None:
    """Write plan.json from the jobs' case.json: with a stock launcher, jobs may come to be at the same time."""
    cases = [
        {"case": told["case"], "job": job, "kernel": told["kernel"], "parameters": told["parameters"],
         "seed": told["seed"], "device": told["device"]}
        for job in folder.jobs()
        if (told := read_json(folder.case(job))) and "same_as" not in told
    ]  # fmt: skip
    write_json(folder.plan, {"jobs": len(folder.jobs()), "cases": cases})


def _told(planned: Planned, launcher: str) -> dict[str, Any]:
    """A case with its derived values, and the row that it has until it has a better one."""
    case, kind = planned.case, planned.device.kind
    return {
        "case": case.id,
        "run": planned.key,
        "label": case.label,
        "kernel": case.kernel.name,
        "parameters": dict(case.parameters),
        "seed": case.seed,
        "device": kind,
        "excluded": case.excluded or None,
        "variables": case.variables,
        "grid": case.grid,
        "block": case.block,
        "shared_dynamic": case.shared,
        "macros": {} if case.excluded else dict(case.source().macros),
        "row": results.unfinished(planned, kind, launcher, "not_run", "the job left no result"),
    }
