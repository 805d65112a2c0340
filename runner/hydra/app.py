"""Hydra's side of a sweep: the command line and the sweep's folder.

The launcher (`runner.hydra.launcher`) hands all jobs to the engine at once, so that Hydra calls no task function.
"""

from __future__ import annotations

import functools
import logging
import math
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import hydra
from hydra._internal.config_loader_impl import ConfigLoaderImpl
from hydra._internal.sources_registry import SourcesRegistry
from hydra.core.config_search_path import ConfigSearchPath, SearchPathQuery
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.plugins import Plugins
from hydra.experimental.callback import Callback
from hydra.plugins.search_path_plugin import SearchPathPlugin
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf, open_dict, read_write

from runner import config
from runner.errors import UsageError
from runner.files.limited import MOST_ROWS
from runner.hydra import command_line, contents, errors, overrides, schema
from runner.hydra.launcher import BASIC_SWEEPER
from runner.kernel.yaml_reader import config_text
from runner.record import environment
from runner.record.folder import named
from runner.session import Session, current

FULL_ERROR = "HYDRA_FULL_ERROR"


class Refused(BaseException):
    """A mistake found in a callback or a job, where Hydra catches ordinary exceptions."""


def run(arguments: Sequence[str], session: Session) -> None:
    """Compose and run what the arguments ask for; `--help` and the like run nothing. The session learns the folder."""
    ordered = command_line.ordered(arguments)
    sys.argv[1:] = ordered
    folders = command_line.search_path(ordered)
    schema.register(folders)
    _look_first_into(command_line.replacing(folders))
    _limit_files()
    overrides.install()
    ConfigLoaderImpl.load_configuration = _composed_once  # type: ignore[method-assign, assignment]
    if {"--help", "-h"} & set(ordered):
        sys.stdout.write(contents.help_text(folders))
        return
    environment.ask_git()  # it answers while the configuration is read
    logging.raiseExceptions = False  # Hydra logs what --info shows; a reader that left is no fault
    current.set(session)
    debugging = FULL_ERROR in os.environ
    main = hydra.main(version_base="1.3", config_path=str(config.CONF), config_name="config")(_no_task)
    try:
        command_line.refuse(ordered, folders)
        os.environ[FULL_ERROR] = "1"  # Hydra raises what it finds, instead of printing it and leaving
        main()
    except Refused as e:
        raise UsageError(str(e)) from None
    except SystemExit as e:  # it has said why
        raise SystemExit(2 if e.code else 0) from None
    except Exception as e:
        if debugging or not errors.is_theirs(e) or (isinstance(e, UnicodeDecodeError) and session.folder):
            raise
        raise UsageError(errors.sentence(e, schema.known_keys())) from None


@functools.cache
def _limit_files() -> None:
    """Have Hydra check each file of the configuration before it builds anything from it."""
    Plugins.instance()  # it loads the class of its own
    files: Any = SourcesRegistry.instance().types["file"]
    load = files.load_config

    def load_limited(self: Any, config_path: str) -> Any:
        config_text(Path(self.path) / self._normalize_file_name(config_path))
        return load(self, config_path)

    files.load_config = load_limited


_compose: Any = ConfigLoaderImpl.load_configuration


def _composed_once(self: Any, config_name: str, overrides: list[str], run_mode: RunMode, **how: bool) -> Any:
    """Compose a configuration. Hydra composes a sweep's without a check, to look at its mode, and then once more.

    If the first fails, Hydra forgets why and takes the sweep for a single run, whose `kernel=a,b` it then refuses.
    """
    what = (config_name, tuple(overrides), run_mode)
    if not how.get("validate_sweep_overrides", True):
        try:
            self.composed = what, _compose(self, config_name, overrides, run_mode, **how)
        except Exception as e:
            self.refused = e
            raise
        return self.composed[1]
    if refused := self.__dict__.pop("refused", None):
        raise refused
    before, composed = self.__dict__.pop("composed", (None, None))
    if before != what:
        return _compose(self, config_name, overrides, run_mode, **how)
    parsed = OverridesParser.create().parse_overrides(overrides)
    self.validate_sweep_overrides_legal(parsed, run_mode, how.get("from_shell", True))
    return composed


def _look_first_into(folders: Sequence[Path]) -> None:
    """Have Hydra look into some folders before its own: it puts what --config-dir names behind them."""
    if not folders:
        return

    class OwnFoldersFirst(SearchPathPlugin):
        def manipulate_search_path(self, search_path: ConfigSearchPath) -> None:
            for folder in reversed(folders):
                search_path.prepend("own", f"file://{folder.absolute()}", SearchPathQuery(provider="main"))

    Plugins.instance().register(OwnFoldersFirst)


def _no_task(_: DictConfig) -> None:
    """What Hydra would call for each job; our launchers call the engine instead."""


def _said(error: Exception) -> str:
    return errors.sentence(error, schema.known_keys()) if isinstance(error, errors.THEIRS) else str(error)


class ReserveFolder(Callback):
    """Reserves the folder of a sweep before anything is written, so that no two sweeps share one."""

    def on_multirun_start(self, config: DictConfig, **_: Any) -> None:
        """Called by Hydra."""
        self._reserve(config)

    def on_run_start(self, config: DictConfig, **_: Any) -> None:
        """Called by Hydra for a single run, which only a configuration of the user's own can choose."""
        raise Refused(f"hydra.mode={config.hydra.mode.name}: {command_line.OURS['hydra.mode']}")

    def _reserve(self, composed: DictConfig) -> None:
        try:
            command_line.require_launcher(str(composed.hydra.runtime.choices["hydra/launcher"]))
            _require_few_cases(composed)
            _make_folder(composed)
        except (UsageError, *errors.THEIRS) as e:
            raise Refused(_said(e)) from None
        except OSError as e:
            raise Refused(f"{e.filename}: {e.strerror}") from None


def _require_few_cases(config: DictConfig) -> None:
    """Refuse a sweep of more than `max_cases` cases, before any is composed. Other sweepers choose their own number."""
    hydra, most = config.hydra, config.get("max_cases", schema.MAX_CASES)
    if not 1 <= most <= MOST_ROWS:
        raise UsageError(f"max_cases={most}: expected 1 to {MOST_ROWS}")
    if hydra.sweeper.get("_target_") != BASIC_SWEEPER:
        return
    swept: Any = OmegaConf.to_container(hydra.sweeper.get("params") or OmegaConf.create({}), resolve=True)
    overrides = [*(f"{key}={value}" for key, value in swept.items()), *_plain(hydra.overrides.task)]
    lengths = command_line.lengths(overrides, schema.folders_of(hydra))
    if (cases := math.prod(lengths.values())) > most:
        product = " x ".join(f"{n:,} of {key}" for key, n in lengths.items() if n > 1)
        raise UsageError(f"the sweep has {cases:,} cases ({product}), above max_cases={most}; sweep fewer values")


def _make_folder(config: DictConfig) -> None:
    hydra = config.hydra
    overrides, wanted = _plain(hydra.overrides.hydra), str(hydra.sweep.dir)
    for override in overrides:
        if override.startswith(("hydra.sweep.subdir=", "hydra.run.dir=")):
            raise UsageError(f"{override}: a job's folder is its number; hydra.sweep.dir names the sweep's folder")
    exactly = any(override.startswith("hydra.sweep.dir=") for override in overrides)
    path = Path(wanted) if exactly else Path(f"{wanted}-{_what(config)}")
    session = current.get()
    resumed = session.folder if not session.new else None  # a search, which Hydra composes again
    folder = resumed or session.reserve(path, exactly=exactly)
    with read_write(hydra), open_dict(config):
        hydra.sweep.dir = str(folder.path)
        # Composing a job applies these again.
        hydra.overrides.hydra.append(f"hydra.sweep.dir={command_line.quoted(str(folder.path))}")
    if resumed:
        return
    record_host = bool(OmegaConf.select(config, "record_host", default=False))
    known = environment.gather(sys.argv[1:], record_host=record_host)
    folder.write_json(folder.environment, {**known, "planned_at_once": _planned_at_once(hydra)})


def _planned_at_once(hydra: Any) -> bool:
    """Whether all jobs are known before the first is run: resuming then runs every one of them."""
    return hydra.sweeper.get("_target_") == BASIC_SWEEPER and hydra.sweeper.get("max_batch_size") is None


def _what(config: DictConfig) -> str:
    choices = config.hydra.runtime.choices
    if choices.get("experiment"):
        return named(str(choices.experiment))
    swept = [o.partition("=")[2] for o in _plain(config.hydra.overrides.task) if o.startswith("kernel=")]
    return named((swept[-1] if swept else str(choices.kernel)).replace(",", "+")) or "sweep"


def _plain(overrides: Any) -> list[str]:
    """Overrides as they were written: reading them one by one would resolve a ${...} in them."""
    plain: Any = OmegaConf.to_container(overrides, resolve=False)
    return list(plain)
