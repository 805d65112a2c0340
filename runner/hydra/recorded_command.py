"""The command of a sweep, read from Hydra's own record of it, to compose the sweep again with other overrides."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import yaml

from runner.errors import UsageError
from runner.folder import RunFolder
from runner.hydra.command_line import quoted


def again(folder: RunFolder, overrides: Sequence[str]) -> list[str]:
    """The arguments that make a sweep again, from the configuration that its folder keeps.

    Args:
        folder: Of the sweep.
        overrides: Each replaces the recorded override of the same key.

    Raises:
        UsageError: if the folder has no record, or no configuration.
    """
    record = folder.multirun if folder.multirun.exists() else folder.job(0) / ".hydra" / "hydra.yaml"  # a plain run
    try:
        hydra: Any = yaml.safe_load(record.read_text(encoding="utf-8"))["hydra"]
        given = [*hydra["overrides"]["hydra"], *hydra["overrides"]["task"]]
        name, searchpath, mode = hydra["job"]["config_name"], hydra["searchpath"], hydra["mode"]
    except (OSError, ValueError, LookupError, TypeError, yaml.YAMLError):
        raise UsageError(f"{folder.path}: cannot compose the sweep again: no {record.name}, or a torn one") from None
    if not (folder.sources / "conf" / f"{name.removesuffix('.yaml')}.yaml").is_file():
        raise UsageError(f"{folder.path}: cannot compose the sweep again: its sources/ lacks {name}.yaml")
    new = {_key(text) for text in overrides}
    kept = [text for text in given if _key(text) not in {"hydra.sweep.dir", "hydra.searchpath", *new}]
    if searchpath and "hydra.searchpath" not in new:  # folders were kept with the rest
        kept.append(f"hydra.searchpath=[{','.join(quoted(p) for p in searchpath if p.startswith('pkg://'))}]")
    return [
        *(["-m"] if mode == "MULTIRUN" and "hydra.mode" not in map(_key, [*kept, *overrides]) else []),
        *("--config-path", str((folder.sources / "conf").resolve())),
        *(() if name == "config" else ("--config-name", name)),
        *kept,
        *overrides,
    ]


def _key(override: str) -> str:
    return override.partition("=")[0].lstrip("+~")
