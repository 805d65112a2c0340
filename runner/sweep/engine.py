"""Run a sweep: its jobs in groups that share a device, a compiler and a protocol, then the stages.

Every case becomes a row, even if it fails or crashes. Its row is on disk before the next case ends.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from runner.device import Compiler, DeviceInfo, cache
from runner.display.terminal import SweepProgress
from runner.errors import DeviceUnavailable
from runner.jobs.job import Job
from runner.record.folder import RunFolder
from runner.sweep.ledger import Ledger
from runner.sweep.rounds import Group
from runner.sweep.stage import Bench, Stage
from runner.sweep.worker import Worker


def run(
    plan: Sequence[Job],
    folder: RunFolder,
    progress: SweepProgress,
    launcher: str,
    worker: Worker | None = None,
    *,
    stages: Sequence[Stage] = (),
) -> None:
    """Run all cases of a plan. A case that appears twice is run once.

    Results leave only through the folder. An error of a case becomes its row and does not leave this function.

    Args:
        plan: The jobs.
        folder: The sweep's folder, locked by this process.
        progress: Shows cases and stages.
        launcher: The launcher's name, for the column of that name.
        worker: A worker that was started while the plan was made. It is used if its device fits, and closed.
        stages: The stages to run once verdicts and times are on disk.

    Raises:
        UsageError: The cache of compiled kernels is not writable.
        DeviceUnavailable: The only requested device cannot be opened.
        KeyboardInterrupt: After the cases that were not reached have `not_run` rows.
    """
    began = time.monotonic()
    cache.require_writable()
    ledger = Ledger(plan, folder, launcher)
    opened: dict[int, tuple[DeviceInfo, Compiler]] = {}  # by job
    groups: dict[tuple[Any, ...], list[Job]] = {}  # with device, compiler and timing in common
    for job in ledger.unfinished(ledger.jobs):
        groups.setdefault((*job.device.key, job.compiler, str(job.timing), bool(job.look)), []).append(job)
    try:
        for number, group in enumerate(groups.values(), 1):
            part = f"part {number} of {len(groups)}, " if len(groups) > 1 else ""
            try:
                if worker and worker.takes(group[0].device):
                    taken, worker = worker, None
                else:
                    taken = Worker(group[0].device)
                device = Group(group, folder, progress, ledger, taken, part).run()
                same = (group[0].device.key, group[0].compiler)  # also those that an earlier run has measured
                opened.update({j.number: device for j in ledger.jobs if (j.device.key, j.compiler) == same})
            except DeviceUnavailable as e:
                if len(groups) == 1 and ledger.empty:
                    raise  # nothing was run: the user's mistake, not a failed sweep
                ledger.mark_not_run(str(e), group)
        with Bench(ledger, folder, progress, opened, time.monotonic() - began) as bench:
            for stage in stages:
                stage.run(bench)
    except KeyboardInterrupt:
        ledger.mark_not_run("interrupted before this case was reached", ledger.jobs)
        raise
    finally:
        if worker:
            worker.kill()
        ledger.write()
