"""The parent of a sweep over several GPUs: split the plan, start the shards, bring their rows together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from runner import environment, pace, sources
from runner.config import Job
from runner.device import cache
from runner.device.kinds import compiler_for
from runner.folder import RunFolder
from runner.shards import plan as planning
from runner.shards.folder import REFERENCE, ShardFolder, merge, shards
from runner.shards.watch import Cluster, Watched, Watcher
from runner.sweep import engine
from runner.sweep.ledger import Ledger
from runner.sweep.worker import Worker
from runner.terminal import SweepProgress


def run(
    plan: Sequence[Job],
    folder: RunFolder,
    progress: SweepProgress,
    cluster: Cluster,
    known: Mapping[str, Any],
    *,
    whole: bool,
    wait: bool,
) -> bool:
    """Run what a sweep lacks on the GPUs of a cluster.

    Args:
        plan: All jobs of the sweep.
        folder: The sweep's folder, locked by this process.
        progress: Shows the shards and their rows.
        cluster: Where they run.
        known: What each shard is told beside its jobs.
        whole: Whether each copy of the sweep is one shard, as it is measured on one GPU.
        wait: Whether to wait for the rows; otherwise `runner.resume` brings them together later.

    Returns:
        Whether no shard ended early, as far as this process waited.

    Raises:
        DeviceUnavailable: if no shard could open its device.
        KeyboardInterrupt: passed on, after the shards were cancelled and their rows saved.
    """
    cache.require_writable()
    running = [shard for shard in shards(folder) if not cluster.state(shard).ended]  # those of an earlier parent
    merge(folder)
    ledger = Ledger(plan, folder, cluster.name)
    sources.keep(folder, ledger.jobs)
    try:
        return _run_shards(running, ledger, folder, progress, cluster, known, whole=whole, wait=wait)
    except KeyboardInterrupt:
        progress.say("cancelling the shards")
        cluster.cancel()
        merge(folder)
        ledger = Ledger(plan, folder, cluster.name)
        ledger.mark_not_run("interrupted before this case was reached", ledger.jobs)
        raise
    finally:
        ledger.write()


def _run_shards(
    running: Sequence[ShardFolder],
    ledger: Ledger,
    folder: RunFolder,
    progress: SweepProgress,
    cluster: Cluster,
    known: Mapping[str, Any],
    *,
    whole: bool,
    wait: bool,
) -> bool:
    """Run new shards beside those that still run. A GPU has one shard at a time, so some may wait."""
    todo, seconds = _prepare(ledger, folder, progress, cluster)
    complete = True
    while running or todo:
        new = []
        if len(running) < cluster.most:
            new = _write_shards(ledger, todo, running, folder, cluster, seconds, known, whole=whole)
        cluster.start([*running, *new])
        if not wait:
            return True
        watched = [Watched(shard, frozenset(shard.jobs)) for shard in (*running, *new)]
        complete &= Watcher(ledger, folder, progress, cluster, watched).watch()
        had = {number for shard in watched for number in shard.jobs}
        running, todo = [], [job for job in ledger.unfinished(todo) if job.number not in had]
    return complete


def _prepare(
    ledger: Ledger, folder: RunFolder, progress: SweepProgress, cluster: Cluster
) -> tuple[list[Job], Mapping[int, float]]:
    """Skip what the device cannot run and compile the rest, if this machine has a GPU of the cluster.

    Returns:
        The jobs to run, and the estimated seconds of each.
    """
    todo = ledger.unfinished(ledger.jobs)
    where = cluster.device()
    if where is None or not todo:
        return todo, planning.weights(todo, {})
    progress.stage("opening the device", 1)
    worker = Worker(todo[0].device, where)
    try:
        info = worker.info
    finally:
        worker.kill()
    ledger.opened(ledger.jobs, info.kind)
    compiler = compiler_for(todo[0].device, info, todo[0].compiler)
    environment.note_device(folder, environment.device(info, todo[0], compiler))
    for job in todo:
        if reason := engine.reason_to_skip(job.case, info):
            ledger.mark(job, "skipped", reason)
    todo = ledger.unfinished(ledger.jobs)
    engine.compile_all(compiler, todo, progress)  # each shard finds the binaries in the cache
    return todo, planning.weights(todo, pace.earlier(todo, info))


def _reference(ledger: Ledger) -> Job | None:
    """The case that every shard measures, also those of a resumed sweep.

    Of the cases that have not failed it is the one in the middle by size: small ones vary by more than GPUs do, and
    large ones take long.
    """
    jobs = {job.number: job for job in ledger.jobs if (row := ledger.row(job)) is None or row["status"] == "ok"}
    sizes = planning.weights(list(jobs.values()), {})
    by_size = sorted(jobs, key=lambda number: (sizes[number], number))
    return jobs[by_size[len(by_size) // 2]] if jobs else None


def _write_shards(
    ledger: Ledger,
    todo: Sequence[Job],
    running: Sequence[ShardFolder],
    folder: RunFolder,
    cluster: Cluster,
    seconds: Mapping[int, float],
    known: Mapping[str, Any],
    *,
    whole: bool,
) -> list[ShardFolder]:
    """Write the shards of a plan. Those that still run keep their jobs."""
    taken = {number for shard in running for number in shard.jobs}
    left = [job for job in todo if job.number not in taken]
    first = max((shard.number for shard in shards(folder)), default=-1) + 1
    new = []
    typical = _reference(ledger)
    shards_of_plan = planning.split_copies(left, cluster.most - len(running), seconds, whole=whole)
    for number, jobs in enumerate(shards_of_plan, first):
        same = (job.number for job in jobs if typical and replace(job, copy=typical.copy).key == typical.key)
        reference = next(same, typical.number if typical else None)
        shard = ShardFolder(folder, number)
        told = {"launcher": cluster.name, REFERENCE: reference, "copy": jobs[0].copy, **known}
        shard.write([job.number for job in jobs], **told)
        new.append(shard)
    return new
