"""The configuration folders of a command line: --config-path, --config-dir and hydra.searchpath."""

from __future__ import annotations

import importlib.util
import os
import re
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from runner.compose.arguments import Arguments
from runner.errors import UsageError
from runner.jobs.job import CONF
from runner.kernel.yaml_reader import read_yaml


def search_path(known: Arguments) -> list[Path]:
    """The configuration folders of a command line. The primary one comes last.

    Raises:
        UsageError: A folder does not exist, the primary one has no main file, or an added one may not have it.
    """
    primary = _primary(known)
    folders = [folder for text in _added(known) if (folder := _folder(text))]
    for folder in replacing([*folders, primary]):
        if (own := folder / f"{known.config_name}.yaml").is_file():
            raise UsageError(
                f"{own}: a folder with a kernel that replaces one of the runner's cannot hold this file, too; use "
                f"--config-path, or rename the file"
            )
    return [*folders, primary]


def replacing(folders: Sequence[Path]) -> list[Path]:
    """The added folders with a kernel that the primary folder, the last one, has as well. They must precede it."""
    *added, primary = folders
    taken = {p.name for p in (primary / "kernel").glob("*.yaml")}
    names = {f: {p.name for p in (f / "kernel").glob("*.yaml")} for f in added if f.resolve() != primary.resolve()}
    return [folder for folder, own in names.items() if own & taken]


def in_order(folders: Sequence[Path]) -> list[Path]:
    """The search path in Hydra's order: folders that replace kernels, the primary folder, other added folders."""
    *added, primary = folders
    first = replacing(folders)
    return [*first, primary, *(folder for folder in added if folder not in first)]


def _primary(known: Arguments) -> Path:
    folder = Path(known.config_path) if known.config_path is not None else CONF
    name = known.config_name
    if not folder.is_absolute():  # Hydra would take it as relative to the package
        raise UsageError(f"--config-path {folder}: expected the folder's absolute path")
    if not (folder / f"{name}.yaml").is_file():
        raise UsageError(f"{folder}: the main configuration file {name}.yaml is missing in this folder")
    content = read_yaml(folder / f"{name}.yaml")
    if not isinstance(content, dict) or "defaults" not in content:
        raise UsageError(f"{folder / name}.yaml: a main configuration file needs the key 'defaults'")
    return folder


def _added(known: Arguments) -> list[str]:
    added = [] if known.config_dir is None else [known.config_dir]
    for override in known.overrides:
        if found := re.fullmatch(r"hydra\.searchpath=\[?([^\[\]]*)\]?", override):
            added += [p.strip().strip("'\"").removeprefix("file://") for p in found[1].split(",") if p.strip()]
    return added


def _folder(text: str) -> Path | None:
    """An existing folder; `None` for a Python package."""
    if text.startswith("pkg://"):
        with suppress(ImportError, ValueError):
            if importlib.util.find_spec(text.removeprefix("pkg://")):
                return None
        raise UsageError(f"{text}: there is no such Python package")
    if not os.path.isdir(text):  # noqa: PTH112  (returns False also for a name that the system refuses)
        shown = text or "--config-dir="
        raise UsageError(f"{shown}: there is no such folder; --config-dir expects a folder that holds kernel/NAME.yaml")
    return Path(text)
