"""Find run folders by a path, a pattern, or `latest`; read their environment.json and the command in it."""

from __future__ import annotations

import glob
import json
import os
import shlex
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from runner.errors import UsageError
from runner.record.folder import RunFolder

OUTPUTS = Path("outputs")
LATEST = "latest"
NO_TABLE = "{}: not a run folder: it has no results.csv"
MALFORMED = (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError)
"""The exceptions that reading a malformed run folder may raise."""

_DEEPEST = 4  # levels below the root that are searched; outputs/<date>/<time>-<what> needs two


@contextmanager
def reading(name: object) -> Iterator[None]:
    """Turn the exceptions of a malformed run folder into a `UsageError` that names the folder."""
    try:
        yield
    except MALFORMED as e:
        raise UsageError(f"Malformed run folder: {name}: {e!r}") from e


def below(root: Path) -> list[Path]:
    """The run folders below a folder, or the folder itself if it is one, newest first."""
    known = {path: _started(path) for path in _below(root)}
    return sorted(known, key=lambda path: (known[path], str(path)), reverse=True)


def named(text: str) -> list[Path]:
    """The run folders that a text names.

    Args:
        text: A folder, a pattern such as `outputs/2026-11-*/*`, `latest`, or `latest~1` for the run before it.

    Raises:
        UsageError: The text names no run folder.
    """
    if not text.strip():
        raise UsageError("the name of the run is empty: give a folder, a pattern or `latest`")
    if text.partition("~")[0] == LATEST and not Path(text).exists():
        return [_latest(text)]
    if any(letter in text for letter in "*?[") and not Path(text).exists():
        found = [path for path in map(Path, sorted(glob.glob(text, recursive=True))) if is_run(path)]  # noqa: PTH207
        if not found:
            raise UsageError(f"{text}: no run folder matches; `python -m runner.list` shows those below {OUTPUTS}")
        return found
    path = Path(text)
    if not path.is_dir():
        if path.exists():
            raise UsageError(f"{text} is a file, not a run folder")
        raise UsageError(f"{text}: there is no such folder; `python -m runner.list` shows those below {OUTPUTS}")
    if not is_run(path):
        raise UsageError(NO_TABLE.format(text))
    return [path]


def one(text: str) -> Path:
    """The run folder that a text names, as for `named`. Raises `UsageError` unless it is exactly one."""
    found = named(text)
    if len(found) > 1:
        raise UsageError(f"{text}: {len(found)} runs match; name one")
    return found[0]


def is_run(path: Path) -> bool:
    """Whether a folder is that of a run, finished or not."""
    return path.is_dir() and (RunFolder(path).results.is_file() or RunFolder(path).plan.is_file())


def environment(path: Path) -> dict[str, Any]:
    """The content of a run's environment.json; empty if it is missing or malformed."""
    folder = RunFolder(path)
    found = folder.json(folder.environment)
    return found if isinstance(found, dict) else {}


def section(content: Mapping[str, Any], name: str) -> dict[str, Any]:
    """A section of environment.json; empty if it is missing or malformed."""
    part = content.get(name)
    return part if isinstance(part, dict) else {}


def flat(content: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    """Flatten nested dictionaries into pairs of a dotted name and a value, such as `device.name`, `NVIDIA H200`."""
    for name, value in content.items():
        if isinstance(value, dict) and value:
            yield from flat(value, f"{prefix}{name}.")
        elif isinstance(value, list) and not any(isinstance(item, dict | list) for item in value):
            yield f"{prefix}{name}", ", ".join(map(str, value))
        else:
            yield f"{prefix}{name}", value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def overrides(command: str) -> list[str]:
    """The words of a command after `python -m runner`; empty if there are none, or if a quote is open."""
    try:
        words = shlex.split(command)
    except ValueError:
        return []
    return words[words.index("runner") + 1 :] if "runner" in words else []


def experiment(command: str) -> str:
    """The experiment that a command names; empty if it does not."""
    pairs = [word.lstrip("+").partition("=") for word in overrides(command)]
    return next((v for key, _, v in reversed(pairs) if key == "experiment" and v not in ("", "null")), "")


def _started(path: Path) -> str:
    try:
        return str(environment(path).get("started_utc") or "")
    except UsageError:  # a malformed folder must not hide the others
        return ""


def _latest(text: str) -> Path:
    back = text.removeprefix(LATEST).removeprefix("~") or "0"
    if not (back.isascii() and back.isdecimal()):
        raise UsageError(f"{text}: expected `latest`, or `latest~1` for the run before it")
    known = below(OUTPUTS)
    if int(back) >= len(known):
        count = {0: "no run", 1: "only 1 run"}.get(len(known), f"only {len(known)} runs")
        raise UsageError(f"{text}: {count} below {OUTPUTS}")
    return known[int(back)]


def _below(root: Path) -> Iterator[Path]:
    for name, folders, _ in os.walk(root):
        path = Path(name)
        if found := is_run(path):
            yield path
        if found or len(path.relative_to(root).parts) >= _DEEPEST:
            folders.clear()
