"""What is to be run: each case once, told in its job's folder, and all of them in plan.json."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from runner import sources
from runner.config import Job
from runner.folder import RunFolder, read_json, write_json
from runner.sweep import results


def described(plan: Sequence[Job], launcher: str) -> dict[int, dict[str, Any]]:
    """What each job's case.json says; of jobs that are one case, however it was written, the later name the first."""
    first: dict[tuple[str, ...], int] = {}
    told = {}
    for planned in plan:
        told[planned.number] = _told(planned, launcher)
        if planned.key in first:
            told[planned.number]["same_as"] = first[planned.key]
        first.setdefault(planned.key, planned.number)
    return told


def write(folder: RunFolder, told: Mapping[int, Mapping[str, Any]]) -> None:
    """Write the jobs' case.json, and plan.json; those that are there stay as they are."""
    for job, content in told.items():
        if read_json(folder.case(job)) is None:
            write_json(folder.case(job), content)
    gather(folder)


def asked(planned: Job) -> dict[str, Any]:
    """The device, the compiler and the way of timing, as the configuration asks for them."""
    return {
        **dataclasses.asdict(planned.device),
        "compiler": planned.compiler,
        "timing": dataclasses.asdict(planned.timing),
    }


def gather(folder: RunFolder) -> None:
    """Write plan.json from the jobs' case.json: with a stock launcher, jobs may come to be at the same time."""
    cases = [
        {"case": told["case"], "job": job, "kernel": told["kernel"], "parameters": told["parameters"],
         "seed": told["seed"], "device": told["device"]}
        for job in folder.jobs()
        if (told := read_json(folder.case(job))) and "same_as" not in told
    ]  # fmt: skip
    write_json(folder.plan, {"jobs": len(folder.jobs()), "cases": cases})


def _told(planned: Job, launcher: str) -> dict[str, Any]:
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
        "asked": asked(planned),
        "timing": dataclasses.asdict(planned.timing),
        "fingerprint": sources.fingerprint(case.kernel),
        "excluded": case.excluded or None,
        "variables": case.variables,
        "grid": case.grid,
        "block": case.block,
        "shared_dynamic": case.shared,
        "macros": {} if case.excluded else dict(case.source().macros),
        "row": results.unfinished(planned, kind, launcher, "not_run", "the job left no result"),
    }
