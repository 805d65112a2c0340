"""Read a sweep's command line once, compose its configuration, and run it.

words ──arguments──▶ overrides ──checks, loading──▶ configuration ──sweeps, search──▶ jobs ──launchers──▶ rows
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hydra.core.config_loader import ConfigLoader
from hydra.core.plugins import Plugins
from hydra.core.utils import setup_globals
from hydra.plugins.completion_plugin import CompletionPlugin
from hydra.types import RunMode
from omegaconf import Container, DictConfig, OmegaConf, open_dict, read_write

from runner.compose import (
    arguments,
    checks,
    contents,
    errors,
    launchers,
    loading,
    names,
    schema,
    search,
    search_path,
    sweeps,
)
from runner.compose import overrides as grammar
from runner.compose.arguments import Arguments
from runner.compose.group_files import FIXED_KEYS
from runner.errors import UsageError
from runner.record import environment
from runner.record.folder import RunFolder, slug
from runner.sweep.session import Session

FULL_ERROR = "HYDRA_FULL_ERROR"  # Hydra's environment variable that shows tracebacks
SWEEPERS = {sweeps.BASIC: sweeps.run, "search": search.run}
"""The group `hydra/sweeper`: all combinations, or a search."""


def run(words: Sequence[str], session: Session) -> None:
    """Compose and run a command line. `--help`, `--cfg`, `--info` and completion run nothing.

    Args:
        words: The command line after `runner`, without the options of `runner.cli.Options`.
        session: The command's state; its folder, launcher and results are set.

    Raises:
        UsageError: The command line or the configuration is wrong. Errors of Hydra become this one.
        DeviceUnavailable: The only requested device cannot be opened.
    """
    parsed = arguments.read(words)
    folders = search_path.search_path(parsed)
    schema.register(folders)
    launchers.register()
    search.register()
    if parsed.help:
        sys.stdout.write(names.help_text(folders, contents.mistakes_in(folders)))
        return
    environment.ask_git()  # git runs while the configuration is read
    try:
        checks.refuse(parsed.overrides, folders)
        with loading.open_loader(search_path.in_order(folders), folders[-1]) as loader:
            _run(parsed, loader, session)
    except Exception as e:
        if (
            FULL_ERROR in os.environ
            or not errors.is_from_hydra(e)
            or (isinstance(e, UnicodeDecodeError) and session.folder)
        ):
            raise
        raise UsageError(errors.sentence(e, schema.known_keys())) from None


def _run(parsed: Arguments, loader: ConfigLoader, session: Session) -> None:
    if parsed.completion:
        return _complete(parsed, loader)
    config = loading.compose(loader, parsed.config_name, parsed.overrides)
    if parsed.cfg:
        return _show(config, parsed)
    if parsed.info:
        return _inform(config, parsed.info, loader)
    setup_globals()
    _refuse_settings(config)
    sweeps.require_few_cases(config)
    launcher = launchers.chosen(config)
    folder = _reserve_folder(config, parsed, session)
    session.launcher = launcher.name
    return SWEEPERS[sweeps.sweeper(config)](config, loader, launcher, folder, session)


def _refuse_settings(config: DictConfig) -> None:
    """Refuse settings of Hydra that would have no effect, since nothing in its node is instantiated."""
    hydra = config.hydra
    if hydra.mode == RunMode.RUN:
        raise UsageError(f"hydra.mode=RUN: {FIXED_KEYS['hydra.mode']}")
    if (sweeper := sweeps.sweeper(config)) not in SWEEPERS:
        raise UsageError(f"hydra/sweeper={sweeper}: expected basic (all combinations) or search")
    if others := [name for name in hydra.callbacks or () if name != "reserve"]:  # of an older config.yaml
        raise UsageError(f"hydra.callbacks.{others[0]}: cannot be set: {FIXED_KEYS['hydra.callbacks']}")
    for group in ("hydra_logging", "job_logging"):
        if (choice := hydra.runtime.choices.get(f"hydra/{group}")) not in ("disabled", None):
            raise UsageError(f"hydra/{group}={choice}: cannot be set: {FIXED_KEYS[f'hydra/{group}']}")
    OmegaConf.update(hydra, "mode", RunMode.MULTIRUN)


def _complete(parsed: Arguments, loader: ConfigLoader) -> None:
    """Answer a shell's completion query, or install or remove Hydra's completion."""
    command, _, shell = parsed.completion.partition("=")
    discovered: Any = Plugins.instance().discover(CompletionPlugin)
    plugins = {plugin.provides(): plugin for plugin in discovered}
    if shell not in plugins:
        raise UsageError(f"-sc {parsed.completion}: expected one of {', '.join(sorted(plugins))}")
    plugin = plugins[shell](loader)
    if command == "query":
        plugin.query(parsed.config_name)
    else:
        getattr(plugin, command)()  # install or uninstall


def _show(config: DictConfig, parsed: Arguments) -> None:
    """Print the configuration or a part of it, like Hydra's --cfg."""
    keys = [str(key) for key in config if (key == "hydra") == (parsed.cfg == "hydra")]
    whole: Any = config if parsed.cfg == "all" else OmegaConf.masked_copy(config, keys)
    package = parsed.package if parsed.package != "_global_" else ""
    part = OmegaConf.select(whole, package) if package else whole
    if part is None:
        raise UsageError(f"--package {package}: not a key of the configuration")
    if not isinstance(part, Container):
        sys.stdout.write(f"{part}\n")
        return
    head = f"# @package {package}\n" if package else ""
    sys.stdout.write(head + OmegaConf.to_yaml(part, resolve=parsed.resolve))


def _inform(config: DictConfig, what: str, loader: ConfigLoader) -> None:
    """Print the origins of the configuration, like Hydra's --info."""
    own = OmegaConf.masked_copy(config, [str(key) for key in config if key != "hydra"])
    parts = {
        "searchpath": [f"{source.provider}: {source.full_path()}" for source in loader.get_sources()],
        "defaults": [f"{group}: {choice}" for group, choice in config.hydra.runtime.choices.items()],
        "config": OmegaConf.to_yaml(own).splitlines(),
    }
    for name, lines in parts.items():
        if what in ("all", name):
            sys.stdout.write("".join(f"{line}\n" for line in (f"# {name}", *lines, "")))


def _reserve_folder(config: DictConfig, parsed: Arguments, session: Session) -> RunFolder:
    """Reserve the sweep's folder before anything is written, so that two sweeps never share one."""
    hydra = config.hydra
    overrides = grammar.as_written(hydra.overrides.hydra)
    for override in overrides:
        if override.startswith(("hydra.sweep.subdir=", "hydra.run.dir=")):
            why = "a job's number names its folder; hydra.sweep.dir names the sweep's folder"
            raise UsageError(f"{override}: cannot be set: {why}")
    exactly = any(override.startswith("hydra.sweep.dir=") for override in overrides)
    path = Path(str(hydra.sweep.dir) if exactly else f"{hydra.sweep.dir}-{_content_name(config)}")
    resumed = session.folder if not session.new else None  # a resumed search is composed again
    try:
        folder = resumed or session.reserve(path, exactly=exactly)
        with read_write(hydra), open_dict(config):
            OmegaConf.update(hydra, "sweep.dir", str(folder.path))
            # Composing a job applies the overrides again.
            hydra.overrides.hydra.append(f"hydra.sweep.dir={arguments.quote(str(folder.path))}")
        if not resumed:
            record_host = bool(OmegaConf.select(config, "record_host", default=False))
            gathered = environment.gather(session.typed or parsed.words, record_host=record_host)
            folder.write_json(
                folder.environment, {**gathered, "planned_at_once": sweeps.sweeper(config) == sweeps.BASIC}
            )
    except OSError as e:
        raise UsageError(f"{e.filename}: {e.strerror}") from None
    return folder


def _content_name(config: DictConfig) -> str:
    """The experiment or the kernels, as part of the folder's name."""
    choices = config.hydra.runtime.choices
    if choices.get("experiment"):
        return slug(str(choices.experiment))
    swept = [o.partition("=")[2] for o in grammar.as_written(config.hydra.overrides.task) if o.startswith("kernel=")]
    return slug((swept[-1] if swept else str(choices.kernel)).replace(",", "+")) or "sweep"
