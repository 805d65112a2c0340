"""The parent of a sweep on a cluster: splits the plan, starts the shards, merges their rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from runner.device import cache
from runner.display.terminal import SweepProgress
from runner.errors import UsageError
from runner.jobs.job import Job
from runner.record.environment import REFERENCE
from runner.record.folder import RunFolder
from runner.record.shards import ShardFolder, merge, shards
from runner.shards.slurm import Slurm, max_tasks
from runner.shards.watch import Cluster, WatchedShard, Watcher
from runner.stages.all import ALL
from runner.sweep import split
from runner.sweep.ledger import Ledger


def run(plan: Sequence[Job], folder: RunFolder, progress: SweepProgress, settings: Mapping[str, Any]) -> bool:
    """Run the unfinished jobs of a sweep as a Slurm job array.

    Args:
        plan: All jobs of the sweep.
        folder: The sweep's folder.
        progress: Where rows and messages go.
        settings: The launcher's settings, and `record_host`.

    Returns:
        Whether no shard ended early while this process waited.

    Raises:
        UsageError: A setting is invalid.
        DeviceUnavailable: No shard could open its device.
    """
    folder = RunFolder(folder.path.absolute())  # shards may start in another working directory
    cluster = Slurm(settings, folder)
    if not folder.has(folder.plan):
        plan = planned(plan, settings)
    folder.write_json(folder.environment, {**(folder.json(folder.environment) or {}), "launcher": dict(settings)})
    known = {"record_host": bool(settings["record_host"])}
    return Parent(plan, folder, progress, cluster, known, bool(settings["replicate"]), bool(settings["wait"])).run()


def planned(plan: Sequence[Job], settings: Mapping[str, Any]) -> list[Job]:
    """List the jobs that `run` would run. Slurm and submitit are not needed.

    Raises:
        UsageError: A setting is invalid.
    """
    most, models = max_tasks(settings), settings.get("constraint")
    several = len(models) if isinstance(models, list) else 1
    if several > most:
        raise UsageError(
            f"hydra.launcher.constraint={models}: {several} constraints need {several} shards, but at most "
            f"{most} may run (hydra.launcher.array_parallelism, hydra.launcher.shards)"
        )
    split.refuse_index(plan)
    return split.copied(plan, most if settings.get("replicate") else several)


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
        todo = ledger.unfinished(ledger.jobs)
        complete = True
        while running or todo:
            new = self._write_shards(ledger, todo, running) if len(running) < self.cluster.max_running else []
            self.cluster.start([*running, *new])
            if not self.wait:
                return True
            watched = [WatchedShard(shard, frozenset(shard.jobs)) for shard in (*running, *new)]
            complete &= Watcher(ledger, self.folder, self.progress, self.cluster, watched).watch()
            had = {number for shard in watched for number in shard.jobs}
            running, todo = [], [job for job in ledger.unfinished(todo) if job.number not in had]
        return complete

    def _write_shards(self, ledger: Ledger, todo: Sequence[Job], running: Sequence[ShardFolder]) -> list[ShardFolder]:
        """Write the plans of new shards. Running shards keep their jobs."""
        taken = {number for shard in running for number in shard.jobs}
        left = [job for job in todo if job.number not in taken]
        first = max((shard.number for shard in shards(self.folder)), default=-1) + 1
        new = []
        reference = split.reference([j for j in ledger.jobs if (ledger.row(j) or {}).get("status") in (None, "ok")])
        parts = self._parts(left, self.cluster.max_running - len(running))
        if len(parts) == 1 < min(len(ledger.jobs), self.cluster.max_running) and not first:
            self.progress.say("the sweep runs in one shard: its cases are compared, so they stay on one GPU")
        for number, jobs in enumerate(parts, first):
            same = (job.number for job in jobs if reference and split.same_case(job, reference))
            case = next(same, reference.number if reference else None)
            shard = ShardFolder(self.folder, number)
            further = {"launcher": self.cluster.name, REFERENCE: case, "copy": jobs[0].copy, **self.known}
            shard.write([job.number for job in jobs], **further)
            new.append(shard)
        return new

    def _parts(self, jobs: Sequence[Job], most: int) -> list[list[Job]]:
        """Split jobs into at most `most` shards, each with jobs of one copy of the sweep."""
        copies = sorted({job.copy for job in jobs})[:most]
        each = 1 if self.whole else most // max(len(copies), 1)
        parts = [part for copy in copies for part in split.split([job for job in jobs if job.copy == copy], each)]
        return [part for part in parts if part]
