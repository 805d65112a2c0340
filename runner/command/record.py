"""Hydra's record of a sweep, read back: the command that was given, to be given again."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException

from runner import __version__, config
from runner.differences import between, refusal
from runner.errors import UsageError
from runner.folder import RunFolder, read_json

_NO_RECORD = "this is no sweep's folder: it has no multirun.yaml"
_SWEEPER = "hydra._internal.core_plugins.basic_sweeper.BasicSweeper"


@dataclass(frozen=True)
class Record:
    """What a sweep was.

    Attributes:
        folder: Of the sweep, with an absolute path.
        options: Of the command: where its configuration lies.
        config_name: The file that the configuration begins with.
        searchpath: Hydra's: where further parts of it lie.
        overrides: Of the command; without the folder.
        directory: Where it was given.
        sweep_dir: The folder as Hydra's files name it.
        launcher: Of Hydra; `none` for a plain run.
        at_once: Whether all cases were planned before the first was run.
        params: What an experiment sweeps.
    """

    folder: RunFolder
    options: tuple[str, ...]
    config_name: str
    searchpath: tuple[str, ...]
    overrides: tuple[str, ...]
    directory: Path
    sweep_dir: str
    launcher: str
    at_once: bool
    params: Any

    @property
    def arguments(self) -> tuple[str, ...]:
        """Of the command, after the program's name; without the folder."""
        return (*self.options, *named(self.config_name), *self.overrides)


def named(config_name: str) -> tuple[str, ...]:
    """The option for the file that the configuration begins with."""
    return () if config_name == "config" else ("--config-name", config_name)


def of_this_version(path: Path) -> Record:
    """Read the record of a sweep that is to be gone on with.

    Raises:
        UsageError: if the folder holds none, a torn file, or the record of another version of the program.
    """
    folder, kept = _place(path)
    for needed in (folder.environment, folder.plan):
        if read_json(needed) is None and (needed.exists() or needed == folder.environment):
            raise _torn(path, needed.name)
    if changed := between("the runner", read_json(folder.environment).get("runner"), __version__):
        raise refusal(changed)
    return _read(folder, kept, path)


def read(path: Path) -> Record:
    """Read the record in a sweep's folder.

    Raises:
        UsageError: if the folder holds none, or a torn one.
    """
    return _read(*_place(path), path)


def _place(path: Path) -> tuple[RunFolder, Path]:
    """A sweep's folder, and the file in it that has Hydra's record."""
    folder = RunFolder(path.absolute())
    if not path.is_dir():
        raise UsageError(f"{path}: there is no such folder")
    if not any(path.iterdir()):
        raise UsageError(f"{path}: the folder is empty")
    kept = folder.multirun if folder.multirun.exists() else folder.job(0) / ".hydra" / "hydra.yaml"  # of a plain run
    if not kept.exists():
        raise UsageError(f"{path}: {_NO_RECORD}")
    return folder, kept


def _read(folder: RunFolder, kept: Path, path: Path) -> Record:
    try:
        settings: Any = OmegaConf.to_container(OmegaConf.load(kept), resolve=False)
        return _record(folder, settings["hydra"])
    except (OmegaConfBaseException, yaml.YAMLError, UnicodeDecodeError, LookupError, TypeError, AttributeError):
        raise _torn(path, kept.name) from None


def _torn(path: Path, name: str) -> UsageError:
    return UsageError(f"{path}: its {name} is torn, so nobody knows what was to be run; start a new sweep")


def _record(folder: RunFolder, hydra: dict[str, Any]) -> Record:
    launcher = "none" if hydra["mode"] == "RUN" else str(hydra["runtime"]["choices"]["hydra/launcher"])
    if launcher != "none" and not folder.multirun.exists():
        raise UsageError(f"{folder.path}: {_NO_RECORD}")
    if hydra["sweeper"]["_target_"] != _SWEEPER:
        raise UsageError(f"{folder.path}: only Hydra's basic sweeper chooses the same cases again; start a new sweep")
    directory = Path(hydra["runtime"]["cwd"])
    return Record(
        folder=folder,
        options=tuple(_options(hydra)),
        config_name=str(hydra["job"]["config_name"]),
        searchpath=tuple(map(str, hydra["searchpath"])),
        overrides=(*hydra["overrides"]["hydra"][:-1], *hydra["overrides"]["task"]),
        directory=directory,
        sweep_dir=_sweep_dir(folder, directory, hydra["sweep"]["dir"]),
        launcher=launcher,
        at_once=launcher == "none" or (launcher == "batch" and hydra["sweeper"]["max_batch_size"] is None),
        params=hydra["sweeper"]["params"],
    )


def _options(hydra: dict[str, Any]) -> list[str]:
    """The command's options; a configuration folder that came with the program may lie elsewhere today."""
    paths = {s["provider"]: s["path"] for s in hydra["runtime"]["config_sources"] if s["schema"] == "file"}
    options = []
    if Path(paths["main"]) != config.CONF and Path(paths["main"]).is_dir():
        options += ["--config-path", paths["main"]]
    if "command-line" in paths:
        options += ["--config-dir", paths["command-line"]]
    return options


def _sweep_dir(folder: RunFolder, directory: Path, recorded: str) -> str:
    """As it was recorded, so that all jobs' files name it alike; where it was moved since, as it is."""
    if (directory / recorded).resolve() == folder.path.resolve():
        return recorded
    return str(folder.path)
