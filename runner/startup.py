"""Start the worker before the configuration is read, since opening a device takes as long as reading it.

The command line usually tells which device that is. A wrong guess costs nothing but the worker, which is replaced.
Nothing that is slow to import is imported here.
"""

from __future__ import annotations

from collections.abc import Sequence

from runner.device.kinds import AUTO, CHOICES
from runner.settings import DeviceConfig
from runner.sweep.worker import Worker

SWEEP_FLAGS = ("-m", "--multirun")
CONFIG_FLAGS = ("--config-dir", "--config-path", "--config-name", "-cd", "-cp", "-cn")  # may choose another device
OTHER_LAUNCHERS = ("hydra/launcher=", "hydra.launcher", "hydra.mode=", "hydra/sweeper=")  # start workers themselves
DEVICE_KEYS = ("device.", "experiment=")  # may choose another device, too


def start_worker(arguments: Sequence[str]) -> Worker | None:
    """Start the worker for a command line of `python -m runner`.

    Args:
        arguments: After the program's name.

    Returns:
        The worker, which opens its device if the command line tells which; `None` if it may run no case.
    """
    flags = [a for a in arguments if a.startswith("-")]
    if any(flag not in SWEEP_FLAGS and not flag.startswith(CONFIG_FLAGS) for flag in flags):
        return None  # --help, --cfg and the like
    overrides = [a.lstrip("+~") for a in arguments if not a.startswith("-")]
    if any(o.startswith(OTHER_LAUNCHERS) for o in overrides):
        return None
    return Worker(_likely_device(overrides, default=not any(f.startswith(CONFIG_FLAGS) for f in flags)))


def _likely_device(overrides: Sequence[str], *, default: bool) -> DeviceConfig | None:
    """The first job's device, unless the configuration decides."""
    if any(o.startswith(DEVICE_KEYS) for o in overrides):
        return None
    chosen = [o.partition("=")[2].partition(",")[0] for o in overrides if o.startswith("device=")]
    kind = chosen[-1] if chosen else AUTO if default else ""
    return DeviceConfig(kind=kind) if kind in CHOICES else None
