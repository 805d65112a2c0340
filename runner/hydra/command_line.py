"""The command line and the files it chooses, checked before Hydra sees them; or read from a folder that Hydra left.

The checks refuse, in one sentence, what Hydra would misread, warn about only, or refuse in terms of its own internals.
"""

from __future__ import annotations

import importlib.util
import math
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from fractions import Fraction
from pathlib import Path
from typing import Any, NoReturn

import yaml
from hydra._internal.utils import get_args_parser
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import ChoiceSweep, Glob, IntervalSweep, Override, QuotedString, RangeSweep
from hydra.errors import OverrideParseException

from runner import config
from runner.commands import COMMANDS, OF_A_SWEEP, WITH_VALUE
from runner.errors import KernelMistake, UsageError
from runner.files import limited_yaml
from runner.hydra import errors
from runner.kernel.declaration import VOCABULARY, Kind
from runner.kernel.yaml_reader import config_text, read_yaml, require_few_parameters, shown
from runner.record.folder import RunFolder

FILES = ("kernel", "device", "timing", "profile", "experiment")  # groups whose choices are files
OPTIONS = frozenset(name for name, kind in VOCABULARY.items() if kind is Kind.OPTIONS)
LONGEST_NAME = 200  # bytes: that of a file has at most 255
OURS = {
    "hydra.callbacks": "the runner needs it to reserve the sweep's folder",
    "hydra.launcher": "hydra/launcher=NAME chooses one",
    "hydra.sweeper": "hydra/sweeper=NAME chooses one",
    "hydra.mode": "one case is a sweep, too; leave it out",
    "hydra": "set a key within it",
}


def ordered(arguments: Sequence[str]) -> list[str]:
    """Options first: Hydra's parser refuses an override after an option after an override."""
    options, overrides, rest = [], [], list(arguments)
    while rest:
        argument = rest.pop(0)
        if not argument.startswith("-"):
            overrides.append(_with_quotes(argument))
            continue
        options.append(argument)
        if argument in WITH_VALUE and rest:
            options.append(rest.pop(0))
    return [*options, *overrides]


def _with_quotes(override: str) -> str:
    """Compiler options in quotes: Hydra's grammar takes no `=` in a value without them."""
    key, _, value = override.partition("=")
    if key.lstrip("+") not in OPTIONS or re.search(r"['\"(]", value):
        return override
    return f"{key}={re.sub(r'[^][,]*=[^][,]*', lambda found: quoted(found[0].strip()), value)}"


def require_launcher(name: str) -> None:
    """Refuse a launcher that would start each case by itself: cases are measured side by side."""
    if name not in config.LAUNCHERS:
        raise UsageError(f"hydra/launcher={name}: expected batch, gpus (all GPUs of this machine) or slurm (a cluster)")


def search_path(arguments: Sequence[str]) -> list[Path]:
    """The configuration folders of a command line, or a `UsageError`; ours comes last."""
    known = _options(arguments)
    if known.experimental_rerun:
        raise UsageError("--experimental-rerun: not supported; python -m runner.repeat FOLDER runs a sweep again")
    primary = _primary(known)
    folders = [folder for text in _added(known) if (folder := _folder(text))]
    for folder in replacing([*folders, primary]):
        if (own := folder / f"{_config_name(known)}.yaml").is_file():
            raise UsageError(
                f"{own}: a folder with a kernel that replaces one of the runner's cannot hold this file, too; use "
                f"--config-path, or rename the file"
            )
    return [*folders, primary]


def replacing(folders: Sequence[Path]) -> list[Path]:
    """The folders with kernels that the last one has, too: Hydra must look into them first."""
    *added, primary = folders
    taken = {p.name for p in (primary / "kernel").glob("*.yaml")}
    names = {f: {p.name for p in (f / "kernel").glob("*.yaml")} for f in added if f.resolve() != primary.resolve()}
    return [folder for folder, own in names.items() if own & taken]


def _primary(known: Any) -> Path:
    folder = Path(known.config_path) if known.config_path is not None else config.CONF
    name = _config_name(known)
    if not folder.is_absolute():  # Hydra would look for it in the package
        raise UsageError(f"--config-path {folder}: expected the folder's absolute path")
    if not (folder / f"{name}.yaml").is_file():
        raise UsageError(f"{folder}: this folder has no {name}.yaml, where the configuration begins")
    content = read_yaml(folder / f"{name}.yaml")
    if not isinstance(content, dict) or "defaults" not in content:
        raise UsageError(f"{folder / name}.yaml: the configuration cannot begin here: this file has no 'defaults'")
    return folder


def _config_name(known: Any) -> str:
    return str(known.config_name or "config").removesuffix(".yaml")


def _added(known: Any) -> list[str]:
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
    if not os.path.isdir(text):  # noqa: PTH112  (of a name that the system refuses, too, it says no)
        shown = text or "--config-dir="
        raise UsageError(f"{shown}: there is no such folder; --config-dir expects a folder that holds kernel/NAME.yaml")
    return Path(text)


def refuse(arguments: Sequence[str], folders: Sequence[Path]) -> None:
    """Refuse overrides and chosen files that Hydra would misread; `folders` is the search path.

    A `UsageError` naming the override, or the file.
    """
    for text in _options(arguments).overrides:
        try:
            (override,) = OverridesParser.create().parse_overrides([text])
        except (ValueError, RecursionError) as e:  # a number of thousands of digits, thousands of brackets
            raise UsageError(f"{text}: cannot read this override: {e}") from None
        except OverrideParseException:
            raise UsageError(f"{text}: {_unreadable(text, folders)}") from None
        _refuse(override)
        if override.key_or_group in FILES:
            names = list(_values(override))
            for name in names:
                _refuse_choice(override, name)
                if override.key_or_group == "kernel" and len(names) > 1 and _chosen("kernel", str(name), folders):
                    continue  # the others run
                _check_file(str(override.key_or_group), str(name), folders)


def _unreadable(override: str, folders: Sequence[Path]) -> str:
    """What is wrong with an override that Hydra's grammar does not take."""
    key, equals, value = override.partition("=")
    group, colon, name = key.partition(":")
    if not equals and re.fullmatch(r"\d\w*", key):
        return "expected KEY=VALUE; write a list of values as block=128,256"
    if not equals and colon and group.isidentifier():
        return f"expected KEY=VALUE; write {group}={name}"
    if not equals and (command := errors.nearest(key, COMMANDS)):
        return f"expected KEY=VALUE or a subcommand{command.replace('you mean ', 'you mean runner ')}"
    if not equals:
        kernels = [path.stem for folder in folders for path in sorted((folder / "kernel").glob("*.yaml"))]
        near = errors.nearest(key, kernels).replace("you mean ", "you mean kernel=")
        return f"expected KEY=VALUE{near or ' or a subcommand; `runner --help` lists them'}"
    if powers := re.match(r"(\d+)\^(\d+)", value):
        return f"write powers as {powers[1]}**{powers[2]}"
    if re.search(r",\s*(,|$)", value):
        return "an empty value in the list"
    return f"cannot read this override; {errors.QUOTING}"


def _options(arguments: Sequence[str]) -> Any:
    parser = get_args_parser()

    def error(message: str) -> NoReturn:
        word = message.rpartition(" ")[2].removeprefix("--")
        near = errors.nearest(word, [o.removeprefix("--") for o in OF_A_SWEEP]).replace("you mean ", "you mean --")
        near = near or "; --help shows how to write it"
        raise UsageError(f"cannot read the command line: {message}{near}")

    parser.error = error  # type: ignore[method-assign]
    return parser.parse_args(list(arguments))


def _refuse(override: Override) -> None:
    line, key = override.input_line, override.key_or_group
    if not key:
        raise UsageError(f"{line}: the key before the = is missing; write block=128")
    if len(key.encode()) > LONGEST_NAME:
        raise UsageError(f"{line}: a key has at most {LONGEST_NAME} characters")
    if override.is_delete():
        raise UsageError(f"{line}: ~ is not supported; a parameter set to null takes its kernel's default")
    if key in OURS or key.startswith("hydra.callbacks."):
        raise UsageError(f"{line}: cannot be set: {OURS.get(key, OURS['hydra.callbacks'])}")
    if key == "hydra/launcher":
        require_launcher(str(override.value()))
    if key == "hydra.sweep.dir" and override.value() == "":
        raise UsageError(f"{line}: name a new folder")
    if key in FILES and (override.is_add() or override.is_force_add()) and key != "experiment":
        raise UsageError(f"{line}: a {key} is chosen already; write {key}=NAME without a +")
    _length(override, ())


def lengths(overrides: Sequence[str], folders: Sequence[Path]) -> dict[str, int]:
    """How many values a sweep has for each key. No range is listed."""
    parsed = OverridesParser.create().parse_overrides(list(overrides))
    return {override.get_key_element(): _length(override, folders) for override in parsed}


def _length(override: Override, folders: Sequence[Path]) -> int:
    """How many values an override has; a `UsageError` if they have no end."""
    line, value = override.input_line, override.value()
    if isinstance(value, IntervalSweep):
        raise UsageError(f"{line}: an interval has no steps; list the values, or use range(first,end,step)")
    if isinstance(value, RangeSweep):
        try:
            start, stop, step = (Fraction(str(n or 0)) for n in (value.start, value.stop, value.step))
            return max(0, math.ceil((stop - start) / step))
        except (ValueError, ZeroDivisionError):
            raise UsageError(f"{line}: a range needs finite ends and a step other than 0") from None
    if isinstance(value, Glob):
        return len(value.filter([p.stem for f in folders for p in (f / override.key_or_group).glob("*.yaml")]))
    return len(value.list) if isinstance(value, ChoiceSweep) else 1


def _values(override: Override) -> Iterator[Any]:
    value = override.value()
    if isinstance(value, ChoiceSweep):
        yield from (v.text if isinstance(v, QuotedString) else v for v in value.list)
    elif not isinstance(value, Glob | RangeSweep):
        yield value


def _refuse_choice(override: Override, name: Any) -> None:
    group = override.key_or_group
    if group == "experiment" and name is None:
        return
    if not isinstance(name, str) or not 0 < len(name.encode()) <= LONGEST_NAME:
        raise UsageError(
            f"{override.input_line}: expected the name of a file in conf/{group}; `runner show` lists them"
        )
    if name.startswith("/") or ".." in Path(name).parts:
        raise UsageError(f"{override.input_line}: expected a name, not a path; --config-dir FOLDER adds FOLDER/{group}")


def check_kernel(name: str, folders: Sequence[Path]) -> None:
    """Refuse a kernel whose file cannot be composed: a `KernelMistake`. One without a file is Hydra's to refuse."""
    if _chosen("kernel", name, folders):
        try:
            _check_file("kernel", name, folders)
        except UsageError as e:
            raise KernelMistake(str(e)) from None


def _chosen(group: str, name: str, folders: Sequence[Path]) -> Path | None:
    return next((p for f in folders if os.path.lexists(p := f / group / f"{name}.yaml")), None)


def _check_file(group: str, name: str, folders: Sequence[Path]) -> None:
    """Refuse a chosen file that is unreadable or malformed: Hydra's errors often do not name the file."""
    path = _chosen(group, name, folders)
    if path is None:
        _look_beside(group, name, folders)
        return
    content, where = read_yaml(path), f"{group}/{path.name}"
    content = {} if content is None else content
    if not isinstance(content, dict):
        raise UsageError(f"{where}: expected keys with values, not {shown(content)}")
    if None in content:
        raise UsageError(f"{where}: null is not a key")
    require_few_parameters(content, where)
    if group == "experiment":
        _check_experiment(content, path, where)
        entries = content.get("defaults")
        chosen = [key for one in (entries if isinstance(entries, list) else ()) if isinstance(one, dict) for key in one]
        if folders[-1] == config.CONF and any(re.fullmatch(r"override\s+/?hydra/launcher", str(key)) for key in chosen):
            raise UsageError(
                f"{where}: hydra/launcher: config.yaml's own choice prevails; choose it on the command line"
            )


def _check_experiment(content: Mapping[str, Any], path: Path, where: str) -> None:
    if "experiment" in content:
        raise UsageError(f"{where}: experiment: an experiment cannot choose another")
    if "kernel" in content:  # merged into the kernel, it would change a case and not its name
        raise UsageError(
            f"{where}: kernel: an experiment chooses a kernel by 'defaults: [override /kernel: NAME]', or "
            f"sweeps it under hydra.sweeper.params"
        )
    for key in ("device", "timing", "profile", "hydra"):
        if not isinstance(content.get(key, {}), dict):
            raise UsageError(
                f"{where}: {key}: expected keys with values, not {shown(content[key])}; "
                f"'defaults: [override /{key}: NAME]' chooses a file"
            )
    callbacks = (content.get("hydra") or {}).get("callbacks", {})
    if not isinstance(callbacks, dict) or "reserve" in callbacks:
        raise UsageError(f"{where}: hydra.callbacks: cannot be set: {OURS['hydra.callbacks']}")
    header = next((line for line in config_text(path).splitlines() if line.strip()), "")
    if "@package" not in header or "_global_" not in header:
        raise UsageError(f"{where}: an experiment must begin with '# @package _global_', not {shown(header)}")


def _look_beside(group: str, name: str, folders: Sequence[Path]) -> None:
    """Say why a choice is not found, if the file or the folder is called otherwise. Hydra says the rest."""
    for folder in folders:
        if (misnamed := folder / group / f"{name}.yml").is_file():
            raise UsageError(f"{misnamed}: rename it to {name}.yaml")
        if not any((folder / each).is_dir() for each in (*FILES, "hydra", "family")):
            raise UsageError(f"{group}={name}: not found, and {folder} has no folder {group}/")


def quoted(text: str) -> str:
    """Text as the value of an override: Hydra's grammar does not take every path as it is."""
    if re.fullmatch(r"[A-Za-z0-9/._+-]+", text):
        return text
    # Within quotes only a backslash before a quote needs another.
    escaped = re.sub(r"(\\+)(?='|$)", r"\1\1", text).replace("'", "\\'")
    return f"'{escaped}'"


def recorded(folder: RunFolder, overrides: Sequence[str]) -> list[str]:
    """The arguments that make a sweep again from its folder; an override replaces the recorded one of the same key."""
    record = folder.multirun if folder.has(folder.multirun) else folder.job(0) / ".hydra" / "hydra.yaml"
    try:
        hydra: Any = limited_yaml.load_yaml(folder.text(record))["hydra"]
        given = [*hydra["overrides"]["hydra"], *hydra["overrides"]["task"]]
        name, searchpath, mode = hydra["job"]["config_name"], hydra["searchpath"], hydra["mode"]
    except (OSError, ValueError, LookupError, TypeError, yaml.YAMLError):
        raise UsageError(f"{folder.path}: cannot compose it again: {record.name} is missing or corrupt") from None
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
