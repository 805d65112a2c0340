"""The group `hydra/launcher`: what runs the jobs of a sweep, and the keys of each.

A launcher gets all jobs at once, so that it measures those side by side that are compared.
"""

from __future__ import annotations

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
from runner.shards import clusters
from runner.stages.all import ALL
from runner.sweep import engine
from runner.sweep.session import Session


@dataclass
class BatchConf:
    """The configuration of `hydra/launcher=batch`: it has no keys."""


@dataclass
class GpusConf:
    """The configuration of `hydra/launcher=gpus`: a shard of the sweep on each GPU of this machine."""

    gpus: list[str] = field(default_factory=list)  # numbers or UUIDs; empty: all
    shards: int = 2  # processes on the CPU device, where there is no GPU
    replicate: bool = False  # whether each GPU measures all cases
    wait: bool = True  # otherwise the command ends when the shards have started


@dataclass
class SlurmConf:
    """The configuration of `hydra/launcher=slurm`: a job array with one GPU a task.

    The names are those of Hydra's submitit launcher; null is the cluster's own default.
    """

    shards: int | None = None  # at most; null: as many as `array_parallelism`
    replicate: bool = False  # whether each shard measures all cases
    wait: bool = True  # otherwise the command ends when the jobs are submitted
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
    constraint: Any = None  # a list: all cases are measured once for each
    exclude: str | None = None
    gres: str | None = None
    cpus_per_gpu: int | None = None
    gpus_per_task: int | None = None
    mem_per_gpu: str | None = None
    mem_per_cpu: str | None = None
    account: str | None = None
    signal_delay_s: int = 120  # before the time limit, when the shard is requeued
    max_num_timeout: int = 3  # how often it is requeued after its time limit
    additional_parameters: dict[str, Any] = field(default_factory=dict)
    array_parallelism: int = 256
    setup: list[str] | None = None
    srun_args: list[str] | None = None


class Launcher(ABC):
    """Runs the jobs of a sweep."""

    def __init__(self, name: str, settings: Mapping[str, Any]) -> None:
        """`settings` are the values of `hydra.launcher`, and `record_host`."""
        self.name, self._settings = name, settings

    @abstractmethod
    def begin(self, first: Job, session: Session) -> None:
        """Called as soon as the first job is known, while the others are read."""

    @abstractmethod
    def planned(self, plan: Sequence[Job]) -> Sequence[Job]:
        """What would be run, for --dry-run; a `UsageError` if a setting is wrong."""

    @abstractmethod
    def run(self, plan: Sequence[Job], folder: RunFolder, progress: SweepProgress, session: Session) -> None:
        """Run all jobs. Whatever becomes of a case is in its row."""

    @abstractmethod
    def environments(self, first: Job) -> list[dict[str, str]]:
        """The environments of the workers with which a search measures at the same time."""


class Batch(Launcher):
    """Runs all jobs in one worker."""

    def begin(self, first: Job, session: Session) -> None:
        """Open the device."""
        session.open_device(first.device)

    def planned(self, plan: Sequence[Job]) -> Sequence[Job]:
        """The plan as it is."""
        return plan

    def run(self, plan: Sequence[Job], folder: RunFolder, progress: SweepProgress, session: Session) -> None:
        """Hand them to the engine."""
        engine.run(plan, folder, progress, self.name, session.take_worker(), stages=ALL)

    def environments(self, first: Job) -> list[dict[str, str]]:
        """That of this process."""
        _ = first
        return [{}]


class Shards(Launcher):
    """Splits the jobs of a sweep over several GPUs, of this machine or of a cluster."""

    def begin(self, first: Job, session: Session) -> None:
        """Each shard opens its own device."""

    def planned(self, plan: Sequence[Job]) -> Sequence[Job]:
        """Each case as often as it would be measured."""
        return clusters.planned(self.name, plan, dict(self._settings))

    def run(self, plan: Sequence[Job], folder: RunFolder, progress: SweepProgress, session: Session) -> None:
        """Start the shards, and wait for them unless `wait` is false."""
        session.ended_early = not clusters.run(self.name, plan, folder, progress, dict(self._settings))
        session.detached = not self._settings.get("wait", True)

    def environments(self, first: Job) -> list[dict[str, str]]:
        """One for each GPU; a `UsageError` if a setting has no sense for a search."""
        clusters.refuse_index([first])
        if self._settings.get("replicate") or not self._settings.get("wait", True):
            name, value = ("replicate", "true") if self._settings.get("replicate") else ("wait", "false")
            raise UsageError(f"hydra.launcher.{name}={value}: a search cannot do this")
        return clusters.gpus(dict(self._settings), [first]).environments()


LAUNCHERS: Mapping[str, tuple[type[Launcher], type[Any]]] = {
    "batch": (Batch, BatchConf),
    "gpus": (Shards, GpusConf),
    "slurm": (Shards, SlurmConf),
}
"""The launchers by name. A further one is a class with its keys, and its place here."""


def register() -> None:
    """Make the group known to Hydra."""
    for name, (_, keys) in LAUNCHERS.items():
        ConfigStore.instance().store(group="hydra/launcher", name=name, node=keys, provider="runner")


def chosen(config: DictConfig) -> Launcher:
    """The launcher of a composed configuration."""
    name = str(config.hydra.runtime.choices["hydra/launcher"])
    require_launcher(name)
    keys: Any = OmegaConf.to_container(config.hydra.launcher or OmegaConf.create({}), resolve=True)
    return LAUNCHERS[name][0](name, {**keys, "record_host": bool(config.get("record_host", False))})
