"""The command line that repeats a stored sweep, from Hydra's configuration in its folder."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import yaml

from runner.compose.arguments import quote
from runner.compose.overrides import key_of
from runner.errors import UsageError
from runner.files import limited_yaml
from runner.record.folder import RunFolder


def arguments(folder: RunFolder, overrides: Sequence[str]) -> list[str]:
    """The command line that composes a stored sweep again, with further overrides that replace recorded ones.

    Raises UsageError if the recorded configuration is missing or corrupt.
    """
    record = folder.multirun if folder.has(folder.multirun) else folder.job(0) / ".hydra" / "hydra.yaml"
    try:
        hydra: Any = limited_yaml.load_yaml(folder.text(record))["hydra"]
        texts = [*hydra["overrides"]["hydra"], *hydra["overrides"]["task"]]
        name, searchpath, mode = hydra["job"]["config_name"], hydra["searchpath"], hydra["mode"]
    except (OSError, ValueError, LookupError, TypeError, yaml.YAMLError):
        raise UsageError(f"{folder.path}: cannot compose it again: {record.name} is missing or corrupt") from None
    file = f"sources/conf/{name.removesuffix('.yaml')}.yaml"
    if not (folder.path / file).is_file():
        raise UsageError(f"{folder.path}: cannot compose the sweep again: {file} is missing")
    new = {key_of(text) for text in overrides}
    texts = [text for text in texts if key_of(text) not in {"hydra.sweep.dir", "hydra.searchpath", *new}]
    if searchpath and "hydra.searchpath" not in new:  # the files of added folders are in sources/conf
        texts.append(f"hydra.searchpath=[{','.join(quote(p) for p in searchpath if p.startswith('pkg://'))}]")
    return [
        *(["-m"] if mode == "MULTIRUN" and "hydra.mode" not in map(key_of, [*texts, *overrides]) else []),
        *("--config-path", str((folder.sources / "conf").resolve())),
        *(() if name == "config" else ("--config-name", name)),
        *texts,
        *overrides,
    ]
