"""Check the files of the groups that a command line chooses, such as kernel/NAME.yaml, before Hydra composes them.

Hydra's own errors often do not name the file. This module does not import Hydra.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from runner.compose.names import CONF
from runner.errors import KernelMistake, UsageError
from runner.kernel.yaml_reader import config_text, read_yaml, require_few_parameters, require_unique_keys, shown

FILES = ("kernel", "device", "timing", "profile", "experiment")  # groups whose choices are files
NO_LOGGING = "the runner prints its own messages, and configures no logging"
FIXED_KEYS = {
    "hydra.callbacks": "no callback is run",
    **dict.fromkeys((f"hydra{s}{name}" for s in "./" for name in ("hydra_logging", "job_logging")), NO_LOGGING),
    "hydra.verbose": NO_LOGGING,
    "hydra.launcher": "hydra/launcher=NAME chooses one",
    "hydra.sweeper": "hydra/sweeper=NAME chooses one",
    "hydra.sweeper.max_batch_size": "all jobs are planned at once",
    "hydra.mode": "one case is a sweep, too; leave it out",
    "hydra": "set a key within it",
}
"""Keys of Hydra that cannot be set, with the reason or the alternative."""
OPEN_NODES = ("hydra.launcher.additional_parameters.", "hydra.job.env_set.")
"""The nodes of Hydra to which keys can be added."""


def check_kernel(name: str, folders: Sequence[Path]) -> None:
    """Raise `KernelMistake` if a kernel's file cannot be composed. Hydra reports a missing file."""
    if path := file_of("kernel", name, folders):
        try:
            check_file("kernel", name, folders)
            require_unique_keys(path)
        except UsageError as e:
            raise KernelMistake(str(e)) from None


def is_composed(path: Path, content: Any) -> bool:
    """Whether a kernel's YAML needs Hydra, as it has a defaults list or refers to other keys."""
    return bool({"defaults", "_self_"} & set(content or ())) or "${" in config_text(path)


def file_of(group: str, name: str, folders: Sequence[Path]) -> Path | None:
    """The file of a choice of a group in the first configuration folder that has one."""
    return next((p for f in folders if os.path.lexists(p := f / group / f"{name}.yaml")), None)


def check_file(group: str, name: str, folders: Sequence[Path]) -> None:
    """Refuse a chosen file that is unreadable or malformed, since Hydra's errors often do not name the file."""
    path = file_of(group, name, folders)
    if path is None:
        _refuse_misnamed(group, name, folders)
        return
    content, where = read_yaml(path), f"{group}/{path.name}"
    if content is None:
        content = {}
    if not isinstance(content, dict):
        raise UsageError(f"{where}: expected a mapping (key: value), not {shown(content)}")
    if None in content:
        raise UsageError(f"{where}: null cannot be a key")
    require_few_parameters(content, where)
    if group == "experiment":
        _check_experiment(content, path, where)
        defaults = content.get("defaults")
        keys = [str(k) for d in (defaults if isinstance(defaults, list) else ()) if isinstance(d, dict) for k in d]
        if folders[-1] == CONF and any(re.fullmatch(r"override\s+/?hydra/launcher", key) for key in keys):
            instead = "config.yaml takes precedence over an experiment; give it on the command line"
            raise UsageError(f"{where}: hydra/launcher: {instead}")


def _check_experiment(content: Mapping[str, Any], path: Path, where: str) -> None:
    if "experiment" in content:
        raise UsageError(f"{where}: experiment: an experiment cannot choose another")
    if "kernel" in content:  # merged into the kernel, it would change cases without changing the kernel's name
        raise UsageError(
            f"{where}: kernel: an experiment chooses a kernel by 'defaults: [override /kernel: NAME]', or "
            f"sweeps it under hydra.sweeper.params"
        )
    for key in ("device", "timing", "profile", "hydra"):
        if not isinstance(content.get(key, {}), dict):
            raise UsageError(
                f"{where}: {key}: expected a mapping (key: value), not {shown(content[key])}; "
                f"'defaults: [override /{key}: NAME]' chooses a file"
            )
    for key in ("callbacks", "hydra_logging", "job_logging"):
        if key in (content.get("hydra") or {}):
            raise UsageError(f"{where}: hydra.{key}: cannot be set: {FIXED_KEYS[f'hydra.{key}']}")
    header = next((line for line in config_text(path).splitlines() if line.strip()), "")
    if "@package" not in header or "_global_" not in header:
        raise UsageError(f"{where}: an experiment must begin with '# @package _global_', not {shown(header)}")


def _refuse_misnamed(group: str, name: str, folders: Sequence[Path]) -> None:
    """Raise `UsageError` if the file or the folder of a choice is misnamed. Hydra reports all other missing choices."""
    for folder in folders:
        if (misnamed := folder / group / f"{name}.yml").is_file():
            raise UsageError(f"{misnamed}: rename it to {name}.yaml")
        if not any((folder / each).is_dir() for each in (*FILES, "hydra", "family")):
            raise UsageError(f"{group}={name}: not found, and {folder} has no folder {group}/")
