"""The launcher `hydra/launcher=batch` and the callback, where Hydra finds plugins: in a package named `hydra_plugins`.

Every run keeps these names in its configuration. They stay, wherever our own modules move.
"""

from dataclasses import dataclass

from hydra.core.config_store import ConfigStore

import runner.hydra.launcher
from runner.hydra.app import ReserveFolder

__all__ = ["BatchLauncher", "BatchLauncherConf", "ReserveFolder"]


class BatchLauncher(runner.hydra.launcher.BatchLauncher):
    """Hydra requires a plugin's class to be defined in `hydra_plugins`."""


@dataclass
class BatchLauncherConf:
    """The configuration of `hydra/launcher=batch`: it has no options."""

    _target_: str = "hydra_plugins.runner_launcher.BatchLauncher"


ConfigStore.instance().store(group="hydra/launcher", name="batch", node=BatchLauncherConf, provider="runner")
