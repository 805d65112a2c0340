"""Split a plan into shards: which cases run on the same GPU."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from runner.jobs.job import Job

SIZE_OF_A_SECOND = 2**26  # elements; only the ratio between cases matters


def copied(jobs: Sequence[Job], copies: int) -> list[Job]:
    """Repeat the jobs for each copy of the sweep. The jobs of the first copy keep their numbers."""
    step = max((job.number for job in jobs), default=-1) + 1
    return [
        dataclasses.replace(job, copy=copy, number=job.number + copy * step) for copy in range(copies) for job in jobs
    ]


def split_copies(jobs: Sequence[Job], most: int, seconds: Mapping[int, float], *, whole: bool) -> list[list[Job]]:
    """Split the jobs of several copies of a sweep. Each shard has jobs of one copy.

    Args:
        jobs: The jobs.
        most: Most shards. If there are more copies, the last ones are left out.
        seconds: Estimated time by job number.
        whole: Make each copy a single shard.
    """
    copies = sorted({job.copy for job in jobs})[:most]
    each = 1 if whole else most // max(len(copies), 1)
    return [shard for copy in copies for shard in split([job for job in jobs if job.copy == copy], each, seconds)]


def split(jobs: Sequence[Job], most: int, seconds: Mapping[int, float]) -> list[list[Job]]:
    """Split jobs into shards of about equal time. Cases that are compared stay together.

    Groups of comparable cases are assigned longest first, each to the shard with the least time (Graham's LPT rule,
    SIAM Journal on Applied Mathematics 17(2), 1969).

    Args:
        jobs: The jobs.
        most: Most shards.
        seconds: Estimated time by job number, from `weights`.

    Returns:
        The jobs of each shard, in the order of their numbers.
    """
    groups: dict[tuple[Any, ...], list[Job]] = {}
    for job in jobs:
        groups.setdefault(compared_with(job), []).append(job)
    by_time = sorted(groups.values(), key=lambda group: -sum(seconds[job.number] for job in group))
    shards: list[list[Job]] = [[] for _ in range(min(most, len(groups)))]
    taken = [0.0] * len(shards)
    for group in by_time:
        least = taken.index(min(taken))
        shards[least] += group
        taken[least] += sum(seconds[job.number] for job in group)
    return [sorted(shard, key=lambda job: job.number) for shard in shards]


def compared_with(job: Job) -> tuple[Any, ...]:
    """The key of the cases that are ranked against each other."""
    kernel, known = job.case.kernel, job.case.variables
    parameters = dict(job.case.parameters)
    shape = (parameters.get("size"), known.get("rows"), known.get("cols"))
    return (kernel.family, *shape, parameters.get("dtype"), kernel.finish, job.device.key, job.compiler)


def weights(jobs: Sequence[Job]) -> dict[int, float]:
    """Estimate the seconds of each job from its size, by job number."""
    return {job.number: 1.0 + float(job.case.variables.get("size") or 0) / SIZE_OF_A_SECOND for job in jobs}
