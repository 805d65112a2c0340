"""The plan of a sweep: each job's case.json, and plan.json with all cases. Both give the jobs back."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from runner import sources
from runner.config import Job
from runner.folder import RunFolder, read_json, write_json
from runner.sweep import results


def described(plan: Sequence[Job], launcher: str) -> dict[int, dict[str, Any]]:
    """The content of each job's case.json; `same_as` names the first job that runs the same."""
    first: dict[tuple[str, ...], int] = {}
    contents = {}
    for job in plan:
        contents[job.number] = _content(job, launcher)
        if job.key in first:
            contents[job.number]["same_as"] = first[job.key]
        first.setdefault(job.key, job.number)
    return contents


def write(folder: RunFolder, contents: Mapping[int, Mapping[str, Any]]) -> None:
    """Write the jobs' case.json unless they exist, and plan.json."""
    for number, content in contents.items():
        if read_json(folder.case(number)) is None:
            write_json(folder.case(number), content)
    gather(folder)


def asked(job: Job) -> dict[str, Any]:
    """The device, the compiler and the timing that the configuration asks for."""
    return {**dataclasses.asdict(job.device), "compiler": job.compiler, "timing": dataclasses.asdict(job.timing)}


def gather(folder: RunFolder) -> None:
    """Write plan.json from the jobs' case.json: a stock launcher may plan several jobs at the same time."""
    ways: list[dict[str, Any]] = []  # most sweeps run all cases in one way
    cases = []
    for number in folder.jobs():
        content = read_json(folder.case(number))
        if content and "same_as" not in content:
            if content["asked"] not in ways:
                ways.append(content["asked"])
            known = {name: content[name] for name in ("kernel", "parameters", "seed", "device")}
            cases.append({"case": content["case"], "job": number, **known, "way": ways.index(content["asked"])})
    write_json(folder.plan, {"jobs": len(folder.jobs()), "ways": ways, "cases": cases})


def _content(job: Job, launcher: str) -> dict[str, Any]:
    """A case with its derived values, and the row that it has until it is run."""
    case, kind = job.case, job.device.kind
    return {
        "case": case.id,
        "run": job.key,
        "label": case.label,
        "kernel": case.kernel.name,
        "parameters": dict(case.parameters),
        "seed": case.seed,
        "device": kind,
        "asked": asked(job),
        "timing": dataclasses.asdict(job.timing),
        "fingerprint": sources.fingerprint(case.kernel),
        "excluded": case.excluded or None,
        "variables": case.variables,
        "grid": case.grid,
        "block": case.block,
        "shared_dynamic": case.shared,
        "macros": {} if case.excluded else dict(case.source().macros),
        "row": results.unfinished(job, kind, launcher, "not_run", "the job left no result"),
    }
