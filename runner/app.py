"""Hydra's side of the program: the command line, the folder, and the task that a launcher calls.

A multirun through our own launcher (`runner.launcher`) hands its whole batch to the engine. A stock launcher (basic,
joblib, submitit) calls `job` once a job; the engine then gets a list of one.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import hydra
from hydra._internal.utils import get_args_parser
from hydra.core.hydra_config import HydraConfig
from hydra.experimental.callback import Callback
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf, open_dict, read_write

from runner import complaints, config, engine, environment
from runner.errors import Mistake
from runner.folder import RunFolder, named, reserve, write_json
from runner.progress import SweepProgress


class Refused(BaseException):
    """A mistake found inside a Hydra callback, where Hydra turns ordinary exceptions into warnings."""


_reserved = False  # whether the folder is ours: one that was there before is never removed
_folder: Path | None = None  # set by the callback, which Hydra creates by name; nothing else can carry it out of Hydra


def run(arguments: Sequence[str]) -> RunFolder | None:
    """Compose, plan and run what the command line asks for.

    Args:
        arguments: The command line after the program's name.

    Returns:
        The sweep's folder; `None` if nothing was to be run (`--help`, `--cfg` and the like).

    Raises:
        Mistake: if it cannot be understood; nothing was run then.
    """
    global _folder  # noqa: PLW0603  (see there)
    _folder = None
    ordered = _overrides_last(arguments)
    sys.argv[1:] = ordered
    config.register(_search_path(ordered))
    shown = "HYDRA_FULL_ERROR" in os.environ
    # Hydra then raises what it finds, and it is told here, in one sentence.
    os.environ["HYDRA_FULL_ERROR"] = "1"
    main = hydra.main(version_base="1.3", config_path=str(config.CONF), config_name="config")(job)
    try:
        main()
    except Refused as e:
        raise Mistake(str(e)) from None
    except complaints.THEIRS as e:
        if shown:
            raise
        raise Mistake(complaints.sentence(e, config.known_keys())) from None
    except (ValueError, TypeError, RecursionError) as e:
        if shown or _folder:  # once the folder is there, the command line was understood, and the fault is ours
            raise
        if isinstance(e, UnicodeDecodeError):
            raise Mistake(f"{_undecodable(_search_path(ordered))}: this is no UTF-8 text: {e.reason}") from None
        raise Mistake(f"the command line cannot be read: {e}") from None
    finally:
        if not shown:
            del os.environ["HYDRA_FULL_ERROR"]
    return folder()


def folder() -> RunFolder | None:
    """The folder of the sweep that is under way, or was interrupted."""
    return RunFolder(_folder) if _folder else None


def discard_if_unused() -> None:
    """Remove a reserved folder in which no case was run."""
    if _folder and _reserved and not RunFolder(_folder).results.exists():
        shutil.rmtree(_folder, ignore_errors=True)


def job(composed: DictConfig) -> None:
    """One job of a stock launcher: the engine gets a list of one, and the row says so."""
    settings: Any = HydraConfig.get()
    sweep = RunFolder(Path(settings.runtime.output_dir).parent)
    planned = config.planned(composed, settings)
    with SweepProgress() as progress:
        engine.run([planned], sweep, progress, _launcher(settings))


def _launcher(settings: Any) -> str:
    return "none" if settings.mode is RunMode.RUN else str(settings.runtime.choices["hydra/launcher"])


class ReserveFolder(Callback):
    """Reserves the folder of a sweep before anything is written, so that no two sweeps ever share one."""

    def on_multirun_start(self, config: DictConfig, **_: Any) -> None:
        """Called by Hydra."""
        self._reserve(config, config.hydra.sweep.dir)

    def on_run_start(self, config: DictConfig, **_: Any) -> None:
        """Called by Hydra for `hydra.mode=RUN`; the job's folder is then `0`, as in a sweep of one."""
        self._reserve(config, config.hydra.sweep.dir)
        with read_write(config.hydra):
            config.hydra.run.dir = f"{config.hydra.sweep.dir}/0"

    def _reserve(self, config: DictConfig, wanted: str) -> None:
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
        try:
            _reserved = not (chosen and path.exists())
            path = reserve(path) if _reserved else path
        except Mistake as e:
            raise Refused(str(e)) from None
        _folder = path.absolute()
        with read_write(config.hydra), open_dict(config.hydra):
            config.hydra.sweep.dir = str(path)
            config.hydra.overrides.hydra.append(f"hydra.sweep.dir={path}")  # composing a job applies these again
        record = OmegaConf.select(config, "record_host", default=False)
        write_json(RunFolder(path).environment, environment.gather(sys.argv[1:], record_host=bool(record)))


def _what(config: DictConfig) -> str:
    """A word for the folder's name: the experiment, or the kernels."""
    choices = config.hydra.runtime.choices
    if choices.get("experiment"):
        return named(str(choices.experiment))
    swept = [o.partition("=")[2] for o in _plain(config.hydra.overrides.task) if o.startswith("kernel=")]
    return named((swept[-1] if swept else str(choices.kernel)).replace(",", "+")) or "sweep"


def _undecodable(folders: Sequence[Path]) -> str:
    """The configuration files that are not UTF-8: the error that they cause does not name them."""
    found = []
    for path in sorted(p for folder in folders for p in folder.rglob("*.yaml") if p.is_file()):
        try:
            path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            found.append(str(path))
    return ", ".join(found) or "a configuration file"


_WITH_VALUE = ("--config-dir", "-cd", "--config-path", "-cp", "--config-name", "-cn", "--package", "-p", "--cfg", "-c")


def _overrides_last(arguments: Sequence[str]) -> list[str]:
    """Options first: Hydra's parser takes no override behind an option that stands behind an override."""
    options, overrides, rest = [], [], list(arguments)
    while rest:
        argument = rest.pop(0)
        if not argument.startswith("-"):
            overrides.append(argument)
            continue
        options.append(argument)
        if argument in _WITH_VALUE and rest:
            options.append(rest.pop(0))
    return [*options, *overrides]


def _plain(overrides: Any) -> list[str]:
    """Overrides as they were written; reading them one by one would resolve a ${...} in them."""
    plain: Any = OmegaConf.to_container(overrides, resolve=False)
    return list(plain)


def _search_path(arguments: Sequence[str]) -> list[Path]:
    """The configuration folders that this command line makes Hydra look into; ours last.

    Raises:
        Mistake: if one is not there, or declares a kernel of a name that is taken.
    """
    known, _ = get_args_parser().parse_known_args(list(arguments))
    primary = Path(known.config_path) if known.config_path else config.CONF
    added = [known.config_dir] if known.config_dir else []
    for override in known.overrides:
        if found := re.fullmatch(r"hydra\.searchpath=\[?([^\[\]]*)\]?", override):
            added += [p.strip().strip("'\"").removeprefix("file://") for p in found[1].split(",") if p.strip()]
    folders = [Path(p) for p in added if not p.startswith("pkg://")]
    for folder in folders:
        if not folder.is_dir():
            raise Mistake(f"{folder}: there is no such folder; --config-dir expects one with kernel/NAME.yaml in it")
    taken = {p.stem for p in (primary / "kernel").glob("*.yaml")}
    for path in sorted(p for f in folders for p in (f / "kernel").glob("*.yaml")):
        if path.stem in taken:
            raise Mistake(
                f"{path}: there is a kernel {path.stem} already, which Hydra would take; give it another name"
            )
    return [*folders, primary]
