"""The group `hydra/launcher`: the launchers of a sweep's jobs, and their keys.

A launcher gets all jobs at once, so that it can measure cases that are compared side by side.
"""

from __future__ import annotations

import contextlib
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from hydra.core.config_store import ConfigStore
from omegaconf import DictConfig, OmegaConf

from runner.compose.checks import require_launcher
from runner.display.terminal import SweepProgress
from runner.errors import UsageError
from runner.jobs.job import Job
from runner.record.folder import RunFolder
from runner.shards import parent
from runner.stages.all import ALL
from runner.sweep import ahead, engine, local
from runner.sweep.ledger import Ledger
from runner.sweep.pool import Pool
from runner.sweep.session import Session


@dataclass
class BatchConf:
    """The configuration of `hydra/launcher=batch`, without keys."""


@dataclass
class GpusConf:
    """The configuration of `hydra/launcher=gpus`: a worker on each GPU of this machine."""

    gpus: list[str] = field(default_factory=list)  # indices or UUIDs; empty: all
    shards: int = 2  # number of workers on the CPU device
    replicate: bool = False  # whether each GPU measures all cases


@dataclass
class SlurmConf:
    """The configuration of `hydra/launcher=slurm`: a job array with one GPU per task.

    The keys are those of Hydra's submitit launcher; null stands for the cluster's default.
    """

    shards: int | None = None  # most shards; null: `array_parallelism`
    replicate: bool = False  # whether each shard measures all cases
    wait: bool = True  # whether to wait for the shards; otherwise the command ends once they are submitted
    timeout_min: int = 60
    cpus_per_task: int | None = None
    gpus_per_node: int | None = 1
    tasks_per_node: int = 1
    mem_gb: int | None = None
    nodes: int = 1
    name: str = "runner"
    partition: str | None = None
    qos: str | None = None
    comment: str | None = None
    constraint: Any = None  # a feature; with a list, all cases are measured once for each
    exclude: str | None = None
    gres: str | None = None
    cpus_per_gpu: int | None = None
    gpus_per_task: int | None = None
    mem_per_gpu: str | None = None
    mem_per_cpu: str | None = None
    account: str | None = None
    signal_delay_s: int = 120  # a shard is requeued this long before its time limit
    max_num_timeout: int = 3  # most times that a shard is requeued
    additional_parameters: dict[str, Any] = field(default_factory=dict)
    array_parallelism: int = 256
    setup: list[str] | None = None
    srun_args: list[str] | None = None


class Launcher(ABC):
    """Runs the jobs of a sweep.

    Settings come in as plain values, and results leave through the run folder only: no configuration object crosses
    this protocol, and the failure of a case becomes its row, not an exception.
    """

    def __init__(self, name: str, settings: Mapping[str, Any]) -> None:
        """`settings` are the values of `hydra.launcher`, and `record_host`."""
        self.name, self._settings = name, settings

    @abstractmethod
    def begin(self, first: Job, session: Session) -> None:
        """Prepare to run. Called as soon as the first job is composed, while the others are read."""

    @abstractmethod
    def planned(self, plan: Sequence[Job]) -> Sequence[Job]:
        """The jobs that would run, for --dry-run.

        Raises:
            UsageError: A setting is wrong.
        """

    @abstractmethod
    def run(self, plan: Sequence[Job], folder: RunFolder, progress: SweepProgress, session: Session) -> None:
        """Run all jobs.

        Args:
            plan: The jobs.
            folder: The sweep's folder, locked by this process.
            progress: Shows cases.
            session: Hands over its worker, and is told whether shards ended early or run on.

        Raises:
            UsageError: A setting is wrong.
            DeviceUnavailable: The only requested device cannot be opened.
        """

    def pool(self, job: Job) -> Pool:
        """The workers of a search; by default one.

        Args:
            job: A job of the search.

        Raises:
            UsageError: A setting cannot be combined with a search.
        """
        _ = job
        return Pool(keep_workers=True)


class Batch(Launcher):
    """Runs all jobs in one worker."""

    def begin(self, first: Job, session: Session) -> None:
        """Open the device."""
        session.open_device(first.device)

    def planned(self, plan: Sequence[Job]) -> Sequence[Job]:
        """The plan, unchanged."""
        return plan

    def run(self, plan: Sequence[Job], folder: RunFolder, progress: SweepProgress, session: Session) -> None:
        """Hand the jobs to the engine."""
        with Pool(worker=session.take_worker()) as pool:
            with ahead.started(plan, pool) if session.new else contextlib.nullcontext():
                ledger = Ledger(plan, folder, self.name)
            engine.run(ledger, progress, pool, stages=ALL)


class Gpus(Launcher):
    """Splits the jobs over the GPUs of this machine."""

    def begin(self, first: Job, session: Session) -> None:
        """Do nothing: the GPUs are opened together."""

    def planned(self, plan: Sequence[Job]) -> Sequence[Job]:
        """The plan, with each case as often as it would be measured."""
        return local.planned(plan, self._settings)

    def run(self, plan: Sequence[Job], folder: RunFolder, progress: SweepProgress, session: Session) -> None:
        """Hand the jobs to the engine."""
        session.ended_early = not local.run(plan, folder, progress, self._settings, ALL)

    def pool(self, job: Job) -> Pool:
        """One worker for each GPU."""
        if self._settings.get("replicate"):
            raise UsageError("hydra.launcher.replicate=true: not possible in a search")
        return Pool(local.environments([job], self._settings), keep_workers=True)


class Slurm(Launcher):
    """Splits the jobs over a Slurm cluster."""

    def begin(self, first: Job, session: Session) -> None:
        """Do nothing: each task opens its own device."""

    def planned(self, plan: Sequence[Job]) -> Sequence[Job]:
        """The plan, with each case as often as it would be measured."""
        return parent.planned(plan, self._settings)

    def run(self, plan: Sequence[Job], folder: RunFolder, progress: SweepProgress, session: Session) -> None:
        """Start the shards and, if `wait` is set, wait for them."""
        session.ended_early = not parent.run(plan, folder, progress, self._settings)
        session.detached = not self._settings["wait"]


LAUNCHERS: Mapping[str, tuple[type[Launcher], type[Any]]] = {
    "batch": (Batch, BatchConf),
    "gpus": (Gpus, GpusConf),
    "slurm": (Slurm, SlurmConf),
}
"""The launchers by name: class and keys. Another one needs its name in `jobs.job.LAUNCHERS`, too."""


def register() -> None:
    """Register the group with Hydra."""
    for name, (_, keys) in LAUNCHERS.items():
        ConfigStore.instance().store(group="hydra/launcher", name=name, node=keys, provider="runner")


def chosen(config: DictConfig) -> Launcher:
    """The launcher of a composed configuration."""
    name = str(config.hydra.runtime.choices["hydra/launcher"])
    require_launcher(name)
    keys: Any = OmegaConf.to_container(config.hydra.launcher or OmegaConf.create({}), resolve=True)
    return LAUNCHERS[name][0](name, {**keys, "record_host": bool(config.get("record_host", False))})
