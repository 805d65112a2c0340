"""The parent of a sweep over several GPUs: splits the plan, starts the shards, merges their rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from runner.device import cache
from runner.device.kinds import compiler_for
from runner.display.terminal import SweepProgress
from runner.errors import DeviceUnavailable
from runner.jobs.job import Job
from runner.record import environment
from runner.record.folder import RunFolder
from runner.record.shards import REFERENCE, ShardFolder, merge, shards
from runner.shards import plan as planning
from runner.shards.watch import Cluster, WatchedShard, Watcher
from runner.stages.all import ALL
from runner.sweep import compiling
from runner.sweep.ledger import Ledger
from runner.sweep.worker import Worker


@dataclass(frozen=True)
class Parent:
    """Runs the unfinished jobs of a sweep on the GPUs of a cluster. This process has locked the sweep's folder."""

    plan: Sequence[Job]  # all jobs of the sweep
    folder: RunFolder
    progress: SweepProgress
    cluster: Cluster
    known: Mapping[str, Any]  # further entries of each shard.json
    whole: bool  # whether each copy of the sweep is one shard, measured on one GPU
    wait: bool  # whether to wait for the rows; otherwise `runner.resume` merges them later

    def run(self) -> bool:
        """Run the shards. After Ctrl-C, cancel them and save their rows.

        Returns:
            Whether no shard ended early while this process waited.

        Raises:
            DeviceUnavailable: No shard could open its device.
        """
        cache.require_writable()
        running = [shard for shard in shards(self.folder) if not self.cluster.state(shard).ended]
        merge(self.folder)
        ledger = Ledger(self.plan, self.folder, self.cluster.name)
        try:
            return self._run_shards(ledger, running)
        except KeyboardInterrupt:
            self.progress.say("cancelling the shards")
            self.cluster.cancel()
            merge(self.folder)
            ledger = Ledger(self.plan, self.folder, self.cluster.name)
            ledger.mark_not_run("interrupted before this case was reached", ledger.jobs)
            raise
        finally:
            ledger.write()
            for stage in ALL:
                stage.gather(self.folder)

    def _run_shards(self, ledger: Ledger, running: Sequence[ShardFolder]) -> bool:
        """Run new shards beside those of an earlier parent. A GPU runs one shard at a time, so some may wait."""
        todo, seconds = self._prepare(ledger)
        complete = True
        while running or todo:
            new = self._written(ledger, todo, running, seconds) if len(running) < self.cluster.most else []
            self.cluster.start([*running, *new])
            if not self.wait:
                return True
            watched = [WatchedShard(shard, frozenset(shard.jobs)) for shard in (*running, *new)]
            complete &= Watcher(ledger, self.folder, self.progress, self.cluster, watched).watch()
            had = {number for shard in watched for number in shard.jobs}
            running, todo = [], [job for job in ledger.unfinished(todo) if job.number not in had]
        return complete

    def _prepare(self, ledger: Ledger) -> tuple[list[Job], Mapping[int, float]]:
        """Return the jobs to run, and the estimated seconds of each.

        If this machine has a GPU of the cluster, jobs that the GPU cannot run are skipped, and the others compiled.
        """
        todo = ledger.unfinished(ledger.jobs)
        where = self.cluster.device()
        groups: dict[tuple[Any, ...], list[Job]] = {}
        for job in todo if where is not None else ():
            groups.setdefault((job.device.key, job.compiler), []).append(job)
        for group in groups.values():
            try:
                self._prepare_group(ledger, group, where or {})
            except DeviceUnavailable:
                if len(groups) == 1:
                    raise
                # the shards with these cases report the error
        todo = ledger.unfinished(ledger.jobs)
        return todo, planning.weights(todo)

    def _prepare_group(self, ledger: Ledger, group: Sequence[Job], where: Mapping[str, str]) -> None:
        """Skip and compile the jobs of one device and compiler."""
        self.progress.stage("opening the device", 1)
        first = group[0]
        worker = Worker(first.device, where)
        try:
            info = worker.info
        finally:
            worker.kill()
        ledger.opened([job for job in ledger.jobs if job.device.key == first.device.key], info.kind)
        compiler = compiler_for(first.device, info, first.compiler)
        environment.note_device(self.folder, environment.device(info, first, compiler))
        for job in group:
            if reason := compiling.reason_to_skip(job.case, info):
                ledger.mark(job, "skipped", reason)
        left = ledger.unfinished(group)
        compiling.compile_all(compiler, left, self.progress)  # each shard finds the binaries in the cache

    def _written(
        self, ledger: Ledger, todo: Sequence[Job], running: Sequence[ShardFolder], seconds: Mapping[int, float]
    ) -> list[ShardFolder]:
        """Write the plans of new shards. Running shards keep their jobs."""
        taken = {number for shard in running for number in shard.jobs}
        left = [job for job in todo if job.number not in taken]
        first = max((shard.number for shard in shards(self.folder)), default=-1) + 1
        new = []
        typical = _reference(ledger)
        parts = planning.split_copies(left, self.cluster.most - len(running), seconds, whole=self.whole)
        if len(parts) == 1 < min(len(ledger.jobs), self.cluster.most) and not first:
            self.progress.say("the sweep runs in one shard: its cases are compared, so they stay on one GPU")
        for number, jobs in enumerate(parts, first):
            same = (job.number for job in jobs if typical and replace(job, copy=typical.copy).key == typical.key)
            reference = next(same, typical.number if typical else None)
            shard = ShardFolder(self.folder, number)
            further = {"launcher": self.cluster.name, REFERENCE: reference, "copy": jobs[0].copy, **self.known}
            shard.write([job.number for job in jobs], **further)
            new.append(shard)
        return new


def _reference(ledger: Ledger) -> Job | None:
    """Choose the case that every shard measures, also in a resumed sweep.

    It is the case of median size that has not failed: small cases vary by more than GPUs do, and large ones take long.
    """
    jobs = {job.number: job for job in ledger.jobs if (row := ledger.row(job)) is None or row["status"] == "ok"}
    sizes = planning.weights(list(jobs.values()))
    by_size = sorted(jobs, key=lambda number: (sizes[number], number))
    return jobs[by_size[len(by_size) // 2]] if jobs else None
