"""Check the overrides of a command line, and that the files that they choose can be composed, before Hydra sees them.

The checks refuse, in one sentence, what Hydra would misread, merely warn about, or refuse in terms of its internals.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

from hydra.core.override_parser.types import ChoiceSweep, Glob, IntervalSweep, Override, QuotedString, RangeSweep
from hydra.errors import OverrideParseException

from runner.cli import COMMANDS
from runner.compose import errors
from runner.compose import overrides as grammar
from runner.compose.group_files import FILES, FIXED_KEYS, OPEN_NODES, check_file, file_of
from runner.compose.names import nearest
from runner.errors import UsageError
from runner.jobs.job import LAUNCHERS

MAX_NAME_BYTES = 200  # a file name has at most 255
PARAMS = "hydra.sweeper.params."
MAX_EQUAL = 100  # equal values in a list
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
                if override.key_or_group == "kernel" and len(names) > 1 and file_of("kernel", str(name), folders):
                    continue  # the others run
                check_file(str(override.key_or_group), str(name), folders)


def _unreadable(override: str, folders: Sequence[Path]) -> str:
    """Why Hydra's grammar rejects an override."""
    key, equals, value = override.partition("=")
    group, colon, name = key.partition(":")
    if not equals and re.fullmatch(r"\d\w*", key):
        return "expected KEY=VALUE; write a list of values as block=128,256"
    if not equals and colon and group.isidentifier():
        return f"expected KEY=VALUE; write {group}={name}"
    if not equals and (command := nearest(key, COMMANDS)):
        return f"expected KEY=VALUE or a subcommand{command.replace('you mean ', 'you mean runner ')}"
    if not equals:
        kernels = [path.stem for folder in folders for path in sorted((folder / "kernel").glob("*.yaml"))]
        near = nearest(key, kernels).replace("you mean ", "you mean kernel=")
        return f"expected KEY=VALUE{near or ' or a subcommand; `runner --help` lists them'}"
    if powers := re.match(r"(\d+)\^(\d+)", value):
        return f"write powers as {powers[1]}**{powers[2]}"
    if re.search(r",\s*(,|$)", value):
        return "an empty value in the list"
    return errors.unreadable(override)


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
    if key.startswith(PARAMS):
        raise UsageError(f"{line}: on the command line write {str(line).partition(PARAMS)[2]}")
    if override.is_add() and key.startswith("hydra.") and not key.startswith(OPEN_NODES):
        raise UsageError(f"{line}: unknown key of Hydra; --cfg hydra shows its keys, which are set without a +")
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


def refuse_equal_values(override: Override) -> None:
    """Refuse a list that repeats a value more than `MAX_EQUAL` times: each is composed, and only the first is run."""
    value = override.value()
    if isinstance(value, ChoiceSweep) and len(value.list) > MAX_EQUAL:
        texts = Counter(v.text if isinstance(v, QuotedString) else str(v) for v in value.list)
        ((text, number),) = texts.most_common(1)
        if number > MAX_EQUAL:
            raise UsageError(
                f"{override.get_key_element()}: the value {text[:40]} is given {number:,} times; give it once"
            )


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
