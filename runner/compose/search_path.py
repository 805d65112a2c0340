"""The configuration folders of a command line: --config-path, --config-dir and hydra.searchpath."""

from __future__ import annotations

import importlib.util
import os
import re
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from runner.compose.arguments import Arguments
from runner.compose.names import CONF
from runner.errors import UsageError
from runner.kernel.yaml_reader import read_yaml


def search_path(parsed: Arguments) -> list[Path]:
    """The configuration folders of a command line. The primary one comes last.

    Raises UsageError if a folder does not exist, the primary one has no main file, or an added one may not have it.
    """
    primary = _primary(parsed)
    folders = [folder for text in _added(parsed) if (folder := _folder(text))]
    for folder in replacing([*folders, primary]):
        if (own := folder / f"{parsed.config_name}.yaml").is_file():
            raise UsageError(
                f"{own}: a folder with a kernel that replaces one of the runner's cannot hold this file, too; use "
                f"--config-path, or rename the file"
            )
    return [*folders, primary]


def replacing(folders: Sequence[Path]) -> list[Path]:
    """The added folders with a kernel that the primary folder, the last one, has as well. They must precede it."""
    *added, primary = folders
    names = {f: {p.name for p in (f / "kernel").glob("*.yaml")} for f in folders}
    return [f for f in dict.fromkeys(added) if f.resolve() != primary.resolve() and names[f] & names[primary]]


def in_order(folders: Sequence[Path]) -> list[Path]:
    """The search path in Hydra's order: folders that replace kernels, the primary folder, other added folders."""
    *added, primary = folders
    first = replacing(folders)
    return [*first, primary, *(folder for folder in added if folder not in first)]


def _primary(parsed: Arguments) -> Path:
    folder = Path(parsed.config_path) if parsed.config_path is not None else CONF
    name = parsed.config_name
    if not folder.is_absolute():  # Hydra would take it as relative to the package
        raise UsageError(f"--config-path {folder}: expected the folder's absolute path")
    if not (folder / f"{name}.yaml").is_file():
        raise UsageError(f"{folder}: the main configuration file {name}.yaml is missing in this folder")
    content = read_yaml(folder / f"{name}.yaml")
    if not isinstance(content, dict) or "defaults" not in content:
        raise UsageError(f"{folder / name}.yaml: a main configuration file needs the key 'defaults'")
    return folder


def _added(parsed: Arguments) -> list[str]:
    added = [] if parsed.config_dir is None else [parsed.config_dir]
    for override in parsed.overrides:
        if match := re.fullmatch(r"hydra\.searchpath=\[?([^\[\]]*)\]?", override):
            added += [p.strip().strip("'\"").removeprefix("file://") for p in match[1].split(",") if p.strip()]
    return added


def _folder(text: str) -> Path | None:
    """An existing folder; `None` for a Python package."""
    if text.startswith("pkg://"):
        with suppress(ImportError, ValueError):
            found = importlib.util.find_spec(text.removeprefix("pkg://"))
            if found and found.submodule_search_locations is not None:
                return None
        raise UsageError(f"{text}: there is no such Python package")
    if not os.path.isdir(text):  # noqa: PTH112  (returns False also for a name that the system refuses)
        expected = "--config-dir expects a folder that holds kernel/NAME.yaml"
        raise UsageError(f"{text or '--config-dir='}: there is no such folder; {expected}")
    return Path(text)
