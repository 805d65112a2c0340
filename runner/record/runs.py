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

MAX_DEPTH = 4  # levels below the root that are searched; outputs/<date>/<time>-<what> needs two


@contextmanager
def reading(name: object) -> Iterator[None]:
    """Turn the exceptions of a malformed run folder into a `UsageError` that names the folder."""
    try:
        yield
    except MALFORMED as e:
        kind = "a value in one of its files is of another kind than the runner writes there"
        what = f"it lacks {e}" if isinstance(e, KeyError) else str(e) if type(e) is ValueError else kind
        raise UsageError(f"{name}: malformed run folder: {what}") from e


def below(root: Path) -> list[Path]:
    """The run folders below a folder, or the folder itself if it is one, newest first."""
    started = {path: _started(path) for path in walk(root)}
    return sorted(started, key=lambda path: (started[path], str(path)), reverse=True)


def walk(root: Path) -> Iterator[Path]:
    """The run folders below a folder, or the folder itself if it is one, in no particular order."""
    for name, folders, _ in os.walk(root):
        path = Path(name)
        if run := is_run(path):
            yield path
        if run or len(path.relative_to(root).parts) >= MAX_DEPTH:
            folders.clear()


def find(text: str) -> list[Path]:
    """The run folders that a text names.

    Args:
        text: A folder, the name of one in a folder of `outputs/`, a pattern such as `outputs/2026-11-*/*`, `latest`, or
            `latest~1` for the run before it.

    Raises:
        UsageError: The text names no run folder.
    """
    path = Path(text)
    if not text.strip():
        raise UsageError("the name of the run is empty: give a folder, a pattern or `latest`")
    if text.partition("~")[0] == LATEST and not path.exists():
        return [_latest(text)]
    listed = f"`python -m runner list` shows those below {OUTPUTS}"
    if any(letter in text for letter in "*?[") and not path.exists():
        matches = [path for path in map(Path, sorted(glob.glob(text, recursive=True))) if is_run(path)]  # noqa: PTH207
        if not matches:
            raise UsageError(f"{text}: no run folder matches; {listed}")
        return matches
    if path.name == text and not path.exists() and (named := [*filter(is_run, sorted(OUTPUTS.glob(f"*/{text}")))]):
        return named
    if not path.is_dir():
        raise UsageError(
            f"{text} is a file, not a run folder" if path.exists() else f"{text}: there is no such folder; {listed}"
        )
    if not is_run(path):
        raise UsageError(NO_TABLE.format(text))
    return [path]


def find_one(text: str) -> Path:
    """The run folder that a text names, as for `find`. Raises `UsageError` unless it is exactly one."""
    path, *others = find(text)
    if others:
        raise UsageError(f"{text}: {1 + len(others)} runs match; name one")
    return path


def is_run(path: Path) -> bool:
    """Whether a folder is that of a run, finished or not."""
    return path.is_dir() and (RunFolder(path).results.is_file() or RunFolder(path).plan.is_file())


def environment(path: Path) -> dict[str, Any]:
    """The content of a run's environment.json; empty if it is missing or malformed."""
    folder = RunFolder(path)
    content = folder.json(folder.environment)
    return content if isinstance(content, dict) else {}


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
    paths = below(OUTPUTS)
    if int(back) >= len(paths):
        count = {0: "no run", 1: "only 1 run"}.get(len(paths), f"only {len(paths)} runs")
        raise UsageError(f"{text}: {count} below {OUTPUTS}")
    return paths[int(back)]
