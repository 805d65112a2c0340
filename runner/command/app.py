"""Hydra's side of the program: the command line, the folder, and the task that a launcher calls.

A multirun through our own launcher (`runner.command.launcher`) hands its whole batch to the engine. A stock launcher
(basic, joblib, submitit) calls `job` once a job; the engine then gets a list of one.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import hydra
from hydra.core.hydra_config import HydraConfig
from hydra.experimental.callback import Callback
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf, open_dict, read_write

from runner import config, environment, lock
from runner.command import command_line, complaints, config_files, taking_up
from runner.command.taking_up import TakenUp
from runner.errors import DeviceUnavailable, UsageError
from runner.folder import RunFolder, named, reserve, write_json
from runner.progress import SweepProgress
from runner.sweep import engine


class Refused(BaseException):
    """A mistake found in a callback or a job, where Hydra makes warnings or lines of its own of ordinary exceptions."""


_reserved: list[Path] = []  # folders that we made for it, inner ones first: one that was there before is never removed
_folder: Path | None = None  # set by the callback, which Hydra creates by name; nothing else can carry it out of Hydra


def run(arguments: Sequence[str], taken_up: TakenUp | None = None) -> RunFolder | None:
    """Compose, plan and run what the command line asks for.

    Args:
        arguments: The command line after the program's name.
        taken_up: The sweep that the command goes on with; a new one by default.

    Returns:
        The sweep's folder; `None` if nothing was to be run (`--help`, `--cfg` and the like).

    Raises:
        UsageError: if it cannot be understood; nothing was run then.
    """
    global _folder  # noqa: PLW0603  (see there)
    _folder = None
    taking_up.current = taken_up
    ordered = command_line.ordered(arguments)
    sys.argv[1:] = ordered
    folders = command_line.search_path(ordered)
    config.register(folders)
    shown = "HYDRA_FULL_ERROR" in os.environ
    # Hydra then raises what it finds, and it is told here, in one sentence.
    os.environ["HYDRA_FULL_ERROR"] = "1"
    main = hydra.main(version_base="1.3", config_path=str(config.CONF), config_name="config")(job)
    try:
        command_line.refuse(ordered, folders)
        main()
    except Refused as e:
        raise UsageError(str(e)) from None
    except UnicodeDecodeError as e:
        if shown or _folder:  # once the folder is there, the command line was understood, and the fault is ours
            raise
        raise UsageError(f"{config_files.undecodable(folders)}: this is no UTF-8 text: {e.reason}") from None
    except Exception as e:
        if shown or not complaints.is_theirs(e):
            raise
        raise UsageError(complaints.sentence(e, config.known_keys())) from None
    finally:
        if not shown:
            del os.environ["HYDRA_FULL_ERROR"]
    return folder()


def folder() -> RunFolder | None:
    """The folder of the sweep that is under way, or was interrupted."""
    return RunFolder(_folder) if _folder else None


def discard_if_unused() -> None:
    """Remove a new folder in which no case was run, and those around it that were made for it."""
    if _folder is None or taking_up.current or RunFolder(_folder).results.exists():
        return
    for path in [_folder] if _reserved else list(_folder.iterdir()):  # a folder that was given was empty
        shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink(missing_ok=True)
    if _reserved:
        with contextlib.suppress(OSError):  # another sweep may have begun beside it
            for parent in _reserved[1:]:
                parent.rmdir()


def job(composed: DictConfig) -> None:
    """One job of a stock launcher: the engine gets a list of one, and the row says so."""
    settings: Any = HydraConfig.get()
    sweep = RunFolder(Path(settings.runtime.output_dir).parent)
    launcher = _launcher(settings)
    try:
        config.register_here(settings)
        planned = config.planned(composed, settings)
        with SweepProgress() as progress:
            engine.run([planned], sweep, progress, launcher)
    except (UsageError, DeviceUnavailable, *complaints.THEIRS) as e:
        if launcher not in ("none", "basic"):
            raise
        told = complaints.sentence(e, config.known_keys()) if isinstance(e, complaints.THEIRS) else str(e)
        raise Refused(told) from None  # Hydra would write a line of its own before passing it on


def _launcher(settings: Any) -> str:
    return "none" if settings.mode is RunMode.RUN else str(settings.runtime.choices["hydra/launcher"])


class ReserveFolder(Callback):
    """Reserves the folder of a sweep before anything is written, so that no two sweeps ever share one."""

    def on_multirun_start(self, config: DictConfig, **_: Any) -> None:
        """Called by Hydra."""
        self._reserve(config)

    def on_run_start(self, config: DictConfig, **_: Any) -> None:
        """Called by Hydra for `hydra.mode=RUN`; the job's folder is then `0`, as in a sweep of one."""
        self._reserve(config)
        with read_write(config.hydra):
            config.hydra.run.dir = f"{config.hydra.sweep.dir}/0"

    def _reserve(self, composed: DictConfig) -> None:
        try:
            if taking_up.current:
                self._enter(composed, taking_up.current)
            else:
                self._make(composed, composed.hydra.sweep.dir)
        except UsageError as e:
            raise Refused(str(e)) from None
        except complaints.THEIRS as e:
            raise Refused(complaints.sentence(e, config.known_keys())) from None
        except OSError as e:
            raise Refused(f"{e.filename}: the folder for the results cannot be made: {e.strerror}") from None

    def _enter(self, config: DictConfig, sweep: TakenUp) -> None:
        global _folder, _reserved  # noqa: PLW0603
        sweep.enter(config)
        _folder = sweep.record.folder.path
        _reserved = []

    def _make(self, config: DictConfig, wanted: str) -> None:
        global _folder, _reserved  # noqa: PLW0603
        for override in _plain(config.hydra.overrides.hydra):
            if override.startswith(("hydra.sweep.subdir=", "hydra.run.dir=")):
                raise Refused(
                    f"{override}: the jobs' folders are their numbers; hydra.sweep.dir chooses where they lie"
                )
        chosen = any(o.startswith("hydra.sweep.dir=") for o in _plain(config.hydra.overrides.hydra))
        path = Path(wanted) if chosen else Path(f"{wanted}-{_what(config)}")
        if chosen and path.exists() and (not path.is_dir() or any(path.iterdir())):
            raise Refused(f"hydra.sweep.dir={wanted}: there is something there already; give the name of a new folder")
        made = [p for p in path.absolute().parents if not p.exists()]
        _reserved = [] if chosen and path.exists() else [path, *made]
        path = reserve(path) if _reserved else path
        lock.take(path)
        _folder = path.absolute()
        with read_write(config.hydra), open_dict(config.hydra):
            config.hydra.sweep.dir = str(path)
            # Composing a job applies these again.
            config.hydra.overrides.hydra.append(f"hydra.sweep.dir={command_line.quoted(str(path))}")
        record = OmegaConf.select(config, "record_host", default=False)
        write_json(RunFolder(path).environment, environment.gather(sys.argv[1:], record_host=bool(record)))


def _what(config: DictConfig) -> str:
    """A word for the folder's name: the experiment, or the kernels."""
    choices = config.hydra.runtime.choices
    if choices.get("experiment"):
        return named(str(choices.experiment))
    swept = [o.partition("=")[2] for o in _plain(config.hydra.overrides.task) if o.startswith("kernel=")]
    return named((swept[-1] if swept else str(choices.kernel)).replace(",", "+")) or "sweep"


def _plain(overrides: Any) -> list[str]:
    """Overrides as they were written; reading them one by one would resolve a ${...} in them."""
    plain: Any = OmegaConf.to_container(overrides, resolve=False)
    return list(plain)
