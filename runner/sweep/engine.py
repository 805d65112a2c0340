"""Run a sweep: its jobs in groups that share a device, a compiler and a protocol, then the stages.

Every case becomes a row, even if it fails or crashes. Its row is on disk before the next case ends.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from runner.device import cache
from runner.display.terminal import SweepProgress
from runner.errors import DeviceUnavailable
from runner.jobs.job import Job
from runner.jobs.settings import SHARE
from runner.sweep.group import Group, Measured
from runner.sweep.ledger import Rows
from runner.sweep.pool import Pool
from runner.sweep.stage import Bench, Opened, Stage


def run(
    rows: Rows,
    progress: SweepProgress,
    pool: Pool,
    *,
    stages: Sequence[Stage] = (),
    beside: Sequence[Job] = (),
) -> list[Measured]:
    """Run all jobs that lack a row or a round.

    Results leave only through the folder of `rows`. An error of a case becomes its row and does not leave this
    function.

    Args:
        rows: The jobs and their rows. Its folder is locked by this process.
        progress: Shows cases and stages.
        pool: The workers. They end when all cases are measured, unless the pool keeps them.
        stages: The stages to run once verdicts and times are on disk.
        beside: Cases that each slot measures in addition to its share, so that slots can be compared. The share is
            then any part of the jobs; otherwise cases that are compared stay together.

    Returns:
        What each slot measured.

    Raises:
        UsageError: The cache of compiled kernels is not writable, or a resumed sweep has another device.
        DeviceUnavailable: The only requested device cannot be opened.
        KeyboardInterrupt: After the cases that were not reached have `not_run` rows.
    """
    began = time.monotonic()
    cache.require_writable()
    opened: dict[int, Opened] = {}  # by job
    measured: list[Measured] = []
    groups: dict[tuple[Any, ...], list[Job]] = {}  # with device, compiler and timing in common
    for job in rows.unfinished(rows.jobs):
        groups.setdefault((*job.device.key, job.compiler, str(job.timing), bool(job.look)), []).append(job)
    try:
        for number, jobs in enumerate(groups.values(), 1):
            prefix = f"part {number} of {len(groups)}, " if len(groups) > 1 else ""
            try:
                measured += Group(jobs, rows, progress, pool, beside, prefix).run(opened)
            except DeviceUnavailable as e:
                if len(groups) == 1 and rows.empty:
                    raise  # nothing was run: the user's mistake, not a failed sweep
                rows.mark_not_run(str(e), jobs)
        rows.write()  # verdicts and times are complete before anything else runs
        now = time.monotonic()
        run_stages(stages, Bench(rows, progress, pool, opened, now + SHARE * (now - began)))
    except KeyboardInterrupt:
        rows.mark_not_run("interrupted before this case was reached", rows.jobs)
        raise
    finally:
        rows.write()
    return measured


def run_stages(stages: Sequence[Stage], bench: Bench) -> None:
    """Run stages on the rows of a bench, and close what they shared."""
    with bench:
        for stage in stages:
            stage.run(bench)
