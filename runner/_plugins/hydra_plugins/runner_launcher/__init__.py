"""The launchers and the callback, where Hydra finds plugins: in a package named `hydra_plugins`.

Every run keeps these names in its configuration. They stay, wherever our own modules move.
"""

from dataclasses import dataclass, field
from typing import Any

from hydra.core.config_store import ConfigStore

import runner.hydra.launcher
import runner.hydra.sweeper
from runner.hydra.app import ReserveFolder

__all__ = [
    "BatchLauncher",
    "BatchLauncherConf",
    "GpusConf",
    "ReserveFolder",
    "SearchConf",
    "SearchSweeper",
    "ShardLauncher",
    "SlurmConf",
]


class BatchLauncher(runner.hydra.launcher.BatchLauncher):
    """Hydra requires a plugin's class to be defined in `hydra_plugins`."""


class ShardLauncher(runner.hydra.launcher.ShardLauncher):
    """Likewise."""


@dataclass
class BatchLauncherConf:
    """The configuration of `hydra/launcher=batch`: it has no options."""

    _target_: str = "hydra_plugins.runner_launcher.BatchLauncher"


ConfigStore.instance().store(group="hydra/launcher", name="batch", node=BatchLauncherConf, provider="runner")


@dataclass
class GpusConf:
    """The configuration of `hydra/launcher=gpus`: a shard of the sweep on each GPU of this machine."""

    _target_: str = "hydra_plugins.runner_launcher.ShardLauncher"
    gpus: list[str] = field(default_factory=list)  # numbers or UUIDs; empty: all
    shards: int = 2  # processes on the CPU device, where there is no GPU
    replicate: bool = False  # whether each GPU measures all cases
    wait: bool = True  # otherwise the command ends when the shards have started


ConfigStore.instance().store(group="hydra/launcher", name="gpus", node=GpusConf, provider="runner")


@dataclass
class SlurmConf:
    """The configuration of `hydra/launcher=slurm`: a job array with one GPU a task.

    The names are those of Hydra's submitit launcher; null is the cluster's own default.
    """

    _target_: str = "hydra_plugins.runner_launcher.ShardLauncher"
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


ConfigStore.instance().store(group="hydra/launcher", name="slurm", node=SlurmConf, provider="runner")


class SearchSweeper(runner.hydra.sweeper.SearchSweeper):
    """Likewise."""


@dataclass
class SearchConf:
    """The configuration of `hydra/sweeper=search`."""

    _target_: str = "hydra_plugins.runner_launcher.SearchSweeper"
    sampler: str = "guided"  # or random, grid
    max_cases: int = 0  # 0: no limit
    max_seconds: float = 0.0  # 0: no limit
    patience: int = 50  # cases without an improvement of 1 %; 0: no limit
    seed: int = 0
    batch: int = 8  # cases that are compiled in parallel and measured side by side
    objective: Any = ""  # a column, a metric or an expression, or a list of two; empty: rank_by
    params: dict[str, Any] | None = None  # the space, as in an experiment for Hydra's own sweeper


ConfigStore.instance().store(group="hydra/sweeper", name="search", node=SearchConf, provider="runner")
