"""The command line, looked through before Hydra sees it.

What Hydra would take for something else, pass over with a warning, or refuse in words about its own insides is refused
here, in one sentence.
"""

from __future__ import annotations

import importlib.util
import math
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NoReturn

from hydra._internal.utils import get_args_parser
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import ChoiceSweep, Glob, IntervalSweep, Override, RangeSweep

from runner import config
from runner.command import config_files
from runner.errors import UsageError

_WITH_VALUE = ("--config-dir", "-cd", "--config-path", "-cp", "--config-name", "-cn", "--package", "-p", "--cfg", "-c")
_FILES = ("kernel", "device", "timing", "experiment")  # groups whose choices are files
_OURS = {
    "hydra.callbacks": "the program reserves the sweep's folder by it",
    "hydra.launcher": "hydra/launcher=NAME chooses one",
    "hydra.sweeper": "hydra/sweeper=NAME chooses one",
    "hydra": "only keys within it can be set",
}


def ordered(arguments: Sequence[str]) -> list[str]:
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


def search_path(arguments: Sequence[str]) -> list[Path]:
    """The configuration folders that a command line makes Hydra look into; ours last.

    Raises:
        UsageError: if an option cannot be understood, or a folder is not there or declares a kernel of a taken name.
    """
    known = _options(arguments)
    if known.experimental_rerun:
        raise UsageError(
            "--experimental-rerun: give the overrides again; .hydra/overrides.yaml of the old job has them"
        )
    primary = _primary(known)
    folders = [folder for text in _added(known) if (folder := _folder(text))]
    taken = {p.stem for p in (primary / "kernel").glob("*.yaml")}
    for path in sorted(p for f in folders for p in (f / "kernel").glob("*.yaml")):
        if path.stem in taken:
            raise UsageError(
                f"{path}: there is a kernel {path.stem} already, which Hydra would take; give it another name"
            )
    return [*folders, primary]


def _primary(known: Any) -> Path:
    """The folder with config.yaml."""
    folder = Path(known.config_path) if known.config_path is not None else config.CONF
    name = (known.config_name or "config").removesuffix(".yaml")
    if not folder.is_absolute():  # Hydra would look for it in the package
        raise UsageError(f"--config-path {folder}: the folder's absolute path is expected")
    if not config_files.is_folder(folder) or not (folder / f"{name}.yaml").is_file():
        raise UsageError(f"{folder}: there is no {name}.yaml in this folder; the configuration begins with it")
    content = config_files.read(folder / f"{name}.yaml")
    if not isinstance(content, dict) or "defaults" not in content:
        raise UsageError(f"{folder / name}.yaml: the configuration cannot begin with this: it has no 'defaults'")
    return folder


def _added(known: Any) -> list[str]:
    """Further folders, as written."""
    added = [] if known.config_dir is None else [known.config_dir]
    for override in known.overrides:
        if found := re.fullmatch(r"hydra\.searchpath=\[?([^\[\]]*)\]?", override):
            added += [p.strip().strip("'\"").removeprefix("file://") for p in found[1].split(",") if p.strip()]
    return added


def _folder(text: str) -> Path | None:
    """A folder that is there; `None` for a Python package."""
    if text.startswith("pkg://"):
        if not _is_package(text.removeprefix("pkg://")):
            raise UsageError(f"{text}: there is no such Python package")
        return None
    if not text or not config_files.is_folder(Path(text)):
        shown = text or "--config-dir="
        raise UsageError(f"{shown}: there is no such folder; --config-dir expects one with kernel/NAME.yaml in it")
    return Path(text)


def refuse(arguments: Sequence[str], folders: Sequence[Path]) -> None:
    """Refuse overrides and chosen files that Hydra would misunderstand.

    Args:
        arguments: The command line.
        folders: As `search_path` gives them.

    Raises:
        UsageError: naming the override, or the file.
        OverrideParseException: Hydra's, if it cannot read an override.
    """
    for text in _options(arguments).overrides:
        override = _parsed(text)
        _refuse(override)
        if override.key_or_group in _FILES:
            for name in _values(override):
                _refuse_choice(override, name)
                config_files.check(str(override.key_or_group), str(name), folders)


def _parsed(text: str) -> Override:
    try:
        return OverridesParser.create().parse_overrides([text])[0]
    except (ValueError, RecursionError) as e:  # a number of thousands of digits, thousands of brackets
        raise UsageError(f"{text}: this override cannot be read: {e}") from None


def _options(arguments: Sequence[str]) -> Any:
    parser = get_args_parser()

    def error(message: str) -> NoReturn:
        raise UsageError(f"the command line cannot be read: {message}; --help shows how it is written")

    parser.error = error  # type: ignore[method-assign]
    return parser.parse_args(list(arguments))


def _is_package(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except (ImportError, ValueError):
        return False


def _refuse(override: Override) -> None:
    line, key = override.input_line, override.key_or_group
    if not key:
        raise UsageError(f"{line}: a key is missing before the =; write block=128")
    if override.is_delete():
        raise UsageError(f"{line}: nothing can be taken out; a parameter set to null has its kernel's default")
    if key in _OURS or key.startswith("hydra.callbacks."):
        raise UsageError(f"{line}: this cannot be set: {_OURS.get(key, _OURS['hydra.callbacks'])}")
    if key == "hydra.sweep.dir" and override.value() == "":
        raise UsageError(f"{line}: give the name of a new folder")
    if key in _FILES and (override.is_add() or override.is_force_add()) and key != "experiment":
        raise UsageError(f"{line}: there is a {key} already; write {key}=NAME without a +")
    value = override.value()
    if isinstance(value, IntervalSweep):
        raise UsageError(f"{line}: an interval has no steps; list the values, or use range(first,end,step)")
    if isinstance(value, RangeSweep) and not _steps(value):
        raise UsageError(f"{line}: a range needs a step that is not 0, and finite ends")


def _steps(sweep: RangeSweep) -> bool:
    numbers = [float(n) for n in (sweep.start, sweep.stop, sweep.step) if n is not None]
    return sweep.step != 0 and all(map(math.isfinite, numbers))


def _values(override: Override) -> Iterator[Any]:
    """The names that an override chooses; none for a pattern."""
    value = override.value()
    if isinstance(value, ChoiceSweep):
        yield from (Override._convert_value(v) for v in value.list)  # noqa: SLF001  (it has no other reader)
    elif not isinstance(value, Glob | RangeSweep):
        yield value


def _refuse_choice(override: Override, name: Any) -> None:
    group = override.key_or_group
    if group == "experiment" and name is None:
        return
    if not isinstance(name, str) or not name:
        raise UsageError(f"{override.input_line}: the name of a file in conf/{group} is expected; --help lists them")
    if name.startswith("/") or ".." in Path(name).parts:
        raise UsageError(f"{override.input_line}: a name is expected, no path; --config-dir FOLDER adds FOLDER/{group}")


def quoted(text: str) -> str:
    """Text as the value of an override; a path may hold what Hydra's grammar does not take."""
    if re.fullmatch(r"[A-Za-z0-9/._+-]+", text):
        return text
    # Within quotes a backslash is one, unless it stands before a quote.
    escaped = re.sub(r"(\\+)(?='|$)", r"\1\1", text).replace("'", "\\'")
    return f"'{escaped}'"
