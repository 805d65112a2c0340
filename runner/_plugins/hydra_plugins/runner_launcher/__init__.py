"""The launchers `batch`, `gpus` and `slurm`, and the callback, where Hydra finds plugins: in a package named `hydra_plugins`.

Every run keeps these names in its configuration. They stay, wherever our own modules move.
"""

from dataclasses import dataclass, field

from hydra.core.config_store import ConfigStore

import runner.hydra.launcher
from runner.hydra.app import ReserveFolder

__all__ = ["BatchLauncher", "BatchLauncherConf", "GpusConf", "ReserveFolder", "ShardLauncher"]


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
    wait: bool = True  # otherwise the command ends when the shards have started


ConfigStore.instance().store(group="hydra/launcher", name="gpus", node=GpusConf, provider="runner")
