"""The parent of a sweep over several GPUs: split the plan, start the shards, bring their rows together."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from runner import door, environment, interruption, pace, sources
from runner.config import Job
from runner.device import cache
from runner.device.kinds import compiler_for
from runner.errors import DeviceUnavailable
from runner.folder import RunFolder
from runner.shards import plan as planning
from runner.shards.folder import REFERENCE, ShardFolder, merge, merge_shard, note_gpu, shards
from runner.sweep import engine
from runner.sweep.ledger import Ledger, finished
from runner.sweep.worker import Worker
from runner.terminal import SweepProgress

EVERY_S = 0.5  # between two looks at the shards
CANCEL_S = 30.0  # in which cancelled shards save what they have


@dataclass(frozen=True)
class State:
    """What a launcher knows of a shard."""

    ended: bool
    where: str = ""  # the GPU or the node, once it runs
    why: str = ""  # for a shard that ended early: what became of it


class Cluster(Protocol):
    """Where shards run."""

    name: str  # of the launcher, as rows have it
    most: int  # shards
    every_s: float  # between two questions for the state

    def device(self) -> dict[str, str] | None:
        """The environment of a worker that opens one of its GPUs on this machine; `None` if there is none here."""

    def start(self, shards: Sequence[ShardFolder]) -> None:
        """Start shards, or wait for those that still run."""

    def state(self, shard: ShardFolder) -> State:
        """What became of a shard."""

    def cancel(self) -> None:
        """End all shards that were started. They save what they have."""


@dataclass
class _Watched:
    """A shard while its parent watches it."""

    folder: ShardFolder
    jobs: frozenset[int]
    read: dict[str, int] = field(default_factory=dict)  # bytes of rows.jsonl by start
    ended: bool = False
    noted: bool = False  # whether environment.json has its GPU


def run(
    plan: Sequence[Job], folder: RunFolder, progress: SweepProgress, cluster: Cluster, *, record_host: bool, wait: bool
) -> bool:
    """Run what a sweep lacks on the GPUs of a cluster.

    Args:
        plan: All jobs of the sweep.
        folder: The sweep's folder, locked by this process.
        progress: Shows the shards and their rows.
        cluster: Where they run.
        record_host: Whether environment.json names the hosts.
        wait: Whether to wait for the rows; otherwise `runner.resume` brings them together later.

    Returns:
        Whether no shard ended early, as far as this process waited.

    Raises:
        DeviceUnavailable: if no shard could open its device.
        KeyboardInterrupt: passed on, after the shards were cancelled and their rows saved.
    """
    cache.require_writable()
    merge(folder)
    ledger = Ledger(plan, folder, cluster.name)
    sources.keep(folder, ledger.jobs)
    try:
        todo, seconds = _prepare(ledger, folder, progress, cluster)
        started = _write_shards(todo, folder, cluster, seconds, record_host=record_host)
        cluster.start(started)
        if not wait:
            return True
        watched = [_Watched(shard, frozenset(shard.jobs)) for shard in started]
        return _watch(_Parent(ledger, folder, progress, cluster), watched)
    except KeyboardInterrupt:
        progress.say(f"cancelling {len(shards(folder))} shards")
        cluster.cancel()
        merge(folder)
        ledger = Ledger(plan, folder, cluster.name)
        ledger.mark_not_run("interrupted before this case was reached", ledger.jobs)
        raise
    finally:
        ledger.write()


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


def _write_shards(
    todo: Sequence[Job], folder: RunFolder, cluster: Cluster, seconds: Mapping[int, float], *, record_host: bool
) -> list[ShardFolder]:
    """Write the shards of a plan. Those of an earlier parent that still run keep their jobs."""
    running = [shard for shard in shards(folder) if not cluster.state(shard).ended]
    taken = {number for shard in running for number in shard.jobs}
    left = [job for job in todo if job.number not in taken]
    first = max((shard.number for shard in shards(folder)), default=-1) + 1
    new = []
    reference = min(todo, key=lambda job: (seconds[job.number], job.number)).number if todo else None
    for number, jobs in enumerate(planning.split(left, max(cluster.most - len(running), 1), seconds), first):
        shard = ShardFolder(folder, number)
        known = {"launcher": cluster.name, REFERENCE: reference, "record_host": record_host}
        shard.write([job.number for job in jobs], **known)
        new.append(shard)
    return [*running, *new]


@dataclass
class _Parent:
    ledger: Ledger
    folder: RunFolder
    progress: SweepProgress
    cluster: Cluster


def _watch(parent: _Parent, watched: list[_Watched]) -> bool:
    """Wait until all shards have ended; a case is taken over once all its rounds are measured.

    Returns:
        Whether none of them ended early.
    """
    jobs = {job.number: job for job in parent.ledger.jobs}
    total = sum(len(shard.jobs) for shard in watched)
    parent.progress.stage("measuring", total)
    reasons: dict[int, str] = {}
    asked = 0.0
    while True:
        interruption.check()
        ask = time.monotonic() - asked >= parent.cluster.every_s
        asked = time.monotonic() if ask else asked
        for shard in watched:
            if shard.ended:
                continue
            state = parent.cluster.state(shard.folder) if ask else State(ended=False)
            _take_rows(parent, shard, jobs)
            if state.ended:
                shard.ended = True
                _settle(parent, shard, jobs, state, reasons)
        if ask:
            parent.progress.now(_words(parent.cluster, watched))
        if all(shard.ended for shard in watched):
            break
        time.sleep(EVERY_S)
    if reasons and parent.ledger.empty:
        raise DeviceUnavailable(next(iter(reasons.values())))
    for shard in watched:
        if shard.folder.number in reasons:
            left = [jobs[n] for n in shard.jobs if n in jobs]
            parent.ledger.mark_not_run(reasons[shard.folder.number], left)
    return not reasons


def _words(cluster: Cluster, watched: Sequence[_Watched]) -> str:
    states = [(shard, cluster.state(shard.folder)) for shard in watched if not shard.ended]
    running = [(shard, state.where) for shard, state in states if state.where]
    done = sum(shard.ended for shard in watched)
    waiting = len(watched) - done - len(running)
    where = ", ".join(f"shard {shard.folder.number} on {place}" for shard, place in running)
    counts = [f"{done} done"] * bool(done) + [f"{waiting} waiting"] * bool(waiting)
    return "; ".join([*counts, *([where] if where else [])])


def _take_rows(parent: _Parent, shard: _Watched, jobs: dict[int, Job]) -> None:
    """Take over the cases that a shard has finished since the last look."""
    for attempt in shard.folder.attempts():
        try:
            with door.stream(parent.folder.path, attempt.rows) as file:
                file.seek(shard.read.get(attempt.path.name, 0))
                new = file.read()
        except OSError:
            continue
        if not (complete := new[: new.rfind(b"\n") + 1]):
            continue
        shard.read[attempt.path.name] = shard.read.get(attempt.path.name, 0) + len(complete)
        lines = [json.loads(line) for line in complete.splitlines()]
        done = [line["job"] for line in lines if (job := jobs.get(line["job"])) and _complete(job, line)]
        _add(parent, shard, [number for number in done if number in shard.jobs], jobs)


def _complete(job: Job, line: dict[str, Any]) -> bool:
    return finished(job, {"device": job.device.kind, **line})


def _add(parent: _Parent, shard: _Watched, numbers: Sequence[int], jobs: dict[int, Job]) -> None:
    new = merge_shard(parent.folder, shard.folder, numbers)
    if shard.ended or (new and not shard.noted):
        note_gpu(parent.folder, shard.folder)
        shard.noted = True
    for number, row in new.items():
        job = jobs[number]
        parent.ledger.opened([job], str(row["device"]))
        parent.ledger.add(job, row)
        parent.progress.step()
        parent.progress.row(f"{job.case.label} (shard {shard.folder.number})", row)


def _settle(parent: _Parent, shard: _Watched, jobs: dict[int, Job], state: State, reasons: dict[int, str]) -> None:
    """Take over all that an ended shard has, and note why it lacks some."""
    _add(parent, shard, sorted(shard.jobs), jobs)
    if any(not finished(jobs[n], parent.ledger.row(jobs[n])) for n in shard.jobs if n in jobs):
        reasons[shard.folder.number] = f"shard {shard.folder.number}: {state.why or 'it ended early'}"
        parent.progress.warn(reasons[shard.folder.number])
