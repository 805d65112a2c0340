"""Split a plan over several GPUs. Cases that are compared stay together, since even GPUs of one model differ."""

from __future__ import annotations

import dataclasses
from collections.abc import Hashable, Mapping, Sequence

from runner.errors import UsageError
from runner.jobs.job import Job

SIZE_OF_UNIT_COST = 2**26  # elements that cost as much as the fixed part


def copied(jobs: Sequence[Job], copies: int) -> list[Job]:
    """Repeat the jobs for each copy of the sweep. The jobs of the first copy keep their numbers."""
    step = max((job.number for job in jobs), default=-1) + 1
    return [
        dataclasses.replace(job, copy=copy, number=job.number + copy * step) for copy in range(copies) for job in jobs
    ]


def split(jobs: Sequence[Job], count: int, placed: Mapping[Hashable, int] | None = None) -> list[list[Job]]:
    """Split jobs into shares of about equal time. Cases that are compared stay together.

    Groups of comparable cases are assigned longest first, each to the share with the least time (Graham's LPT rule,
    SIAM Journal on Applied Mathematics 17(2), 1969).

    Args:
        jobs: The jobs.
        count: Number of shares; some are empty if there are fewer groups.
        placed: The shares of groups that a GPU has begun to measure, by `compared_with`.

    Returns:
        The jobs of each share, in the order of their numbers.
    """
    groups: dict[Hashable, list[Job]] = {}
    for job in jobs:
        groups.setdefault(compared_with(job), []).append(job)
    shares: list[list[Job]] = [[] for _ in range(count)]
    taken = [0.0] * count
    for key, group in sorted(
        groups.items(), key=lambda item: (item[0] not in (placed or {}), -sum(map(estimated_cost, item[1])))
    ):
        share = (placed or {}).get(key, taken.index(min(taken)))
        shares[share] += group
        taken[share] += sum(map(estimated_cost, group))
    return [sorted(share, key=lambda job: job.number) for share in shares]


def compared_with(job: Job) -> Hashable:
    """The key of the cases that are ranked against each other."""
    kernel, known = job.case.kernel, job.case.variables
    parameters = dict(job.case.parameters)
    shape = (parameters.get("size"), known.get("rows"), known.get("cols"))
    return (kernel.family, *shape, parameters.get("dtype"), kernel.finish, job.device.key, job.compiler)


def estimated_cost(job: Job) -> float:
    """Estimate a job's relative cost: a fixed part, plus a part that is proportional to its size."""
    return 1.0 + float(job.case.variables.get("size") or 0) / SIZE_OF_UNIT_COST


def reference(jobs: Sequence[Job]) -> Job | None:
    """Choose the case that every GPU measures, so that GPUs can be compared.

    It is the case of median size: small cases vary by more than GPUs do, and large ones take long.
    """
    by_size = sorted(jobs, key=lambda job: (estimated_cost(job), job.number))
    return by_size[len(by_size) // 2] if by_size else None


def same_case(job: Job, other: Job) -> bool:
    """Whether two jobs are the same measurement, perhaps of different copies of the sweep."""
    return dataclasses.replace(job, copy=0).key == dataclasses.replace(other, copy=0).key


def refuse_index(plan: Sequence[Job]) -> None:
    """Refuse a plan that sets `device.index`, if a launcher chooses the GPU.

    Raises:
        UsageError: A job sets it.
    """
    if index := next((job.device.index for job in plan if job.device.index), 0):
        raise UsageError(f"device.index={index}: the launcher chooses the GPU; use hydra.launcher.gpus=[{index}]")
