"""Check the overrides of a command line, and the files that they choose, before Hydra sees them.

The checks refuse, in one sentence, what Hydra would misread, merely warn about, or refuse in terms of its internals.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

from hydra.core.override_parser.types import ChoiceSweep, Glob, IntervalSweep, Override, QuotedString, RangeSweep
from hydra.errors import OverrideParseException

from runner.cli import COMMANDS
from runner.compose import errors
from runner.compose import overrides as grammar
from runner.compose.names import CONF
from runner.errors import KernelMistake, UsageError
from runner.jobs.job import LAUNCHERS
from runner.kernel.yaml_reader import config_text, read_yaml, require_few_parameters, shown

FILES = ("kernel", "device", "timing", "profile", "experiment")  # groups whose choices are files
MAX_NAME_BYTES = 200  # a file name has at most 255
NO_LOGGING = "the runner prints its own messages, and configures no logging"
FIXED_KEYS = {
    "hydra.callbacks": "no callback is run",
    **dict.fromkeys((f"hydra{s}{name}" for s in "./" for name in ("hydra_logging", "job_logging")), NO_LOGGING),
    "hydra.verbose": NO_LOGGING,
    "hydra.launcher": "hydra/launcher=NAME chooses one",
    "hydra.sweeper": "hydra/sweeper=NAME chooses one",
    "hydra.sweeper.max_batch_size": "all jobs are planned at once",
    "hydra.mode": "one case is a sweep, too; leave it out",
    "hydra": "set a key within it",
}
"""Keys of Hydra that cannot be set, with the reason or the alternative."""
FIXED_NODES = ("hydra.callbacks", "hydra.hydra_logging", "hydra.job_logging")
"""Those of them whose subkeys cannot be set, either."""


def require_launcher(name: str) -> None:
    """Raise `UsageError` for a launcher other than ours: a launcher must get all jobs to measure them side by side."""
    if name not in LAUNCHERS:
        raise UsageError(f"hydra/launcher={name}: expected batch, gpus (all GPUs of this machine) or slurm (a cluster)")


def refuse(overrides: Sequence[str], folders: Sequence[Path]) -> None:
    """Refuse overrides and chosen files that Hydra would misread, by a UsageError that names them.

    The primary configuration folder is the last one.
    """
    for text in overrides:
        try:
            (override,) = grammar.parse([text])
        except (ValueError, RecursionError) as e:  # a number with thousands of digits, thousands of brackets
            raise UsageError(f"{text}: cannot read this override: {e}") from None
        except OverrideParseException:
            raise UsageError(f"{text}: {_unreadable(text, folders)}") from None
        _refuse(override)
        if override.key_or_group in FILES:
            names = list(_values(override))
            for name in names:
                _refuse_choice(override, name)
                if override.key_or_group == "kernel" and len(names) > 1 and _file_of("kernel", str(name), folders):
                    continue  # the others run
                _check_file(str(override.key_or_group), str(name), folders)


def _unreadable(override: str, folders: Sequence[Path]) -> str:
    """Why Hydra's grammar rejects an override."""
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


def _refuse(override: Override) -> None:
    line, key = override.input_line, override.key_or_group
    if not key:
        raise UsageError(f"{line}: the key before the = is missing; write block=128")
    if len(key.encode()) > MAX_NAME_BYTES:
        raise UsageError(f"{line}: a key has at most {MAX_NAME_BYTES} characters")
    if override.is_delete():
        raise UsageError(f"{line}: ~ is not supported; a parameter set to null takes its kernel's default")
    within = next((name for name in FIXED_NODES if key.startswith(f"{name}.")), key)
    if within in FIXED_KEYS:
        raise UsageError(f"{line}: cannot be set: {FIXED_KEYS[within]}")
    if key == "hydra/launcher":
        require_launcher(str(override.value()))
    if key == "hydra.sweep.dir" and override.value() == "":
        raise UsageError(f"{line}: expected a new or an empty folder")
    if key in FILES and (override.is_add() or override.is_force_add()) and key != "experiment":
        raise UsageError(f"{line}: the configuration already chooses a {key}; write {key}=NAME without a +")
    length(override, ())


def length(override: Override, folders: Sequence[Path]) -> int:
    """The number of values of an override, without listing a range. The folders are those in which a glob(...) looks.

    Raises UsageError if the number is infinite.
    """
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
    if not isinstance(name, str) or not 0 < len(name.encode()) <= MAX_NAME_BYTES:
        expected = f"expected the name of a file in conf/{group}; `runner show` lists them"
        raise UsageError(f"{override.input_line}: {expected}")
    if name.startswith("/") or ".." in Path(name).parts:
        raise UsageError(f"{override.input_line}: expected a name, not a path; --config-dir FOLDER adds FOLDER/{group}")


def check_kernel(name: str, folders: Sequence[Path]) -> None:
    """Raise `KernelMistake` if a kernel's file cannot be composed. Hydra reports a missing file."""
    if _file_of("kernel", name, folders):
        try:
            _check_file("kernel", name, folders)
        except UsageError as e:
            raise KernelMistake(str(e)) from None


def _file_of(group: str, name: str, folders: Sequence[Path]) -> Path | None:
    return next((p for f in folders if os.path.lexists(p := f / group / f"{name}.yaml")), None)


def _check_file(group: str, name: str, folders: Sequence[Path]) -> None:
    """Refuse a chosen file that is unreadable or malformed, since Hydra's errors often do not name the file."""
    path = _file_of(group, name, folders)
    if path is None:
        _refuse_misnamed(group, name, folders)
        return
    content, where = read_yaml(path), f"{group}/{path.name}"
    if content is None:
        content = {}
    if not isinstance(content, dict):
        raise UsageError(f"{where}: expected a mapping (key: value), not {shown(content)}")
    if None in content:
        raise UsageError(f"{where}: null cannot be a key")
    require_few_parameters(content, where)
    if group == "experiment":
        _check_experiment(content, path, where)
        defaults = content.get("defaults")
        keys = [str(k) for d in (defaults if isinstance(defaults, list) else ()) if isinstance(d, dict) for k in d]
        if folders[-1] == CONF and any(re.fullmatch(r"override\s+/?hydra/launcher", key) for key in keys):
            instead = "config.yaml takes precedence over an experiment; give it on the command line"
            raise UsageError(f"{where}: hydra/launcher: {instead}")


def _check_experiment(content: Mapping[str, Any], path: Path, where: str) -> None:
    if "experiment" in content:
        raise UsageError(f"{where}: experiment: an experiment cannot choose another")
    if "kernel" in content:  # merged into the kernel, it would change cases without changing the kernel's name
        raise UsageError(
            f"{where}: kernel: an experiment chooses a kernel by 'defaults: [override /kernel: NAME]', or "
            f"sweeps it under hydra.sweeper.params"
        )
    for key in ("device", "timing", "profile", "hydra"):
        if not isinstance(content.get(key, {}), dict):
            raise UsageError(
                f"{where}: {key}: expected a mapping (key: value), not {shown(content[key])}; "
                f"'defaults: [override /{key}: NAME]' chooses a file"
            )
    for key in ("callbacks", "hydra_logging", "job_logging"):
        if key in (content.get("hydra") or {}):
            raise UsageError(f"{where}: hydra.{key}: cannot be set: {FIXED_KEYS[f'hydra.{key}']}")
    header = next((line for line in config_text(path).splitlines() if line.strip()), "")
    if "@package" not in header or "_global_" not in header:
        raise UsageError(f"{where}: an experiment must begin with '# @package _global_', not {shown(header)}")


def _refuse_misnamed(group: str, name: str, folders: Sequence[Path]) -> None:
    """Raise `UsageError` if the file or the folder of a choice is misnamed. Hydra reports all other missing choices."""
    for folder in folders:
        if (misnamed := folder / group / f"{name}.yml").is_file():
            raise UsageError(f"{misnamed}: rename it to {name}.yaml")
        if not any((folder / each).is_dir() for each in (*FILES, "hydra", "family")):
            raise UsageError(f"{group}={name}: not found, and {folder} has no folder {group}/")
