"""Makes `hydra/launcher=batch` known to Hydra, which finds plugins only in packages named `hydra_plugins`.

Its names stand in the configuration that is kept with every run, so they stay whatever becomes of our own modules.
"""

from dataclasses import dataclass

from hydra.core.config_store import ConfigStore

import runner.command.launcher
from runner.command.app import ReserveFolder

__all__ = ["BatchLauncher", "BatchLauncherConf", "ReserveFolder"]


class BatchLauncher(runner.command.launcher.BatchLauncher):
    """Defined here, since Hydra wants a plugin's module to be `hydra_plugins`."""


@dataclass
class BatchLauncherConf:
    """The configuration of `hydra/launcher=batch`: it has no options."""

    _target_: str = "hydra_plugins.runner_launcher.BatchLauncher"


ConfigStore.instance().store(group="hydra/launcher", name="batch", node=BatchLauncherConf, provider="runner")
