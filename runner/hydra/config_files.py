"""Chosen configuration files, read once before Hydra reads them: its errors often do not name the file."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import yaml

from runner.errors import UsageError
from runner.hydra import errors
from runner.kernel.yaml_reader import shown

MOST_LEVELS = 50  # far more than a kernel or an experiment needs, far fewer than Python's stack holds
MOST_PARTS = 100_000  # anchors turn a few lines into billions


def is_folder(path: Path) -> bool:
    """Whether a path leads to a folder; also if the system refuses the very name."""
    try:
        return path.is_dir()
    except (OSError, ValueError):
        return False


def check(group: str, name: str, folders: Sequence[Path]) -> None:
    """Refuse a chosen file GROUP/NAME.yaml that is unreadable or malformed. Hydra itself refuses a missing one.

    Raises:
        UsageError: naming the file.
    """
    path = next((p for f in folders if os.path.lexists(p := f / group / f"{name}.yaml")), None)
    if path is None:
        return
    content, where = read(path), _shown(path)
    content = {} if content is None else content
    if not isinstance(content, dict):
        raise UsageError(f"{where}: expected keys with values, not {shown(content)}")
    if None in content:
        raise UsageError(f"{where}: null is not a key")
    if group != "experiment":
        return
    if "experiment" in content:
        raise UsageError(f"{where}: experiment: an experiment cannot choose another")
    if "kernel" in content:  # merged into the kernel, it would change a case and not its name
        raise UsageError(
            f"{where}: kernel: an experiment chooses a kernel by 'defaults: [override /kernel: NAME]', or "
            f"sweeps it under hydra.sweeper.params"
        )
    for key in ("device", "timing", "hydra"):
        if not isinstance(content.get(key, {}), dict):
            raise UsageError(
                f"{where}: {key}: expected keys with values, not {shown(content[key])}; "
                f"'defaults: [override /{key}: NAME]' chooses a file"
            )
    header = next((line for line in path.read_text(encoding="utf-8").splitlines() if line.strip()), "")
    if "@package" not in header or "_global_" not in header:
        raise UsageError(f"{where}: an experiment must begin with '# @package _global_', not {shown(header)}")


def read(path: Path) -> Any:
    """The content of a YAML file.

    Raises:
        UsageError: if it cannot be read, or is not YAML.
    """
    try:
        if not path.is_file():
            what = "a folder" if path.is_dir() else "a broken link" if path.is_symlink() else "not a file"
            raise UsageError(f"{_shown(path)}: expected a YAML file; this is {what}")
        with path.open(encoding="utf-8") as file:
            content = yaml.safe_load(file)
    except OSError as e:
        raise UsageError(f"{_shown(path)}: cannot be read: {e.strerror}") from None
    except UnicodeDecodeError as e:
        raise UsageError(f"{_shown(path)}: not UTF-8 text: {e.reason}") from None
    except yaml.MarkedYAMLError as e:
        raise UsageError(errors.sentence(e, ())) from None
    except RecursionError:
        raise UsageError(f"{_shown(path)}: the YAML is nested too deeply") from None
    except (yaml.YAMLError, ValueError) as e:
        raise UsageError(f"{_shown(path)}: invalid YAML: {str(e).splitlines()[0]}") from None
    for parts, depth in enumerate(_depths(content)):
        if depth > MOST_LEVELS:
            raise UsageError(f"{_shown(path)}: the YAML is nested too deeply, or contains itself by an anchor")
        if parts > MOST_PARTS:
            raise UsageError(f"{_shown(path)}: the YAML has more than {MOST_PARTS} parts")
    return content


def _depths(content: Any) -> Iterator[int]:
    """The depth of each part, down to just below the deepest level that is allowed."""
    waiting: list[tuple[Any, int]] = [(content, 0)]
    while waiting:
        part, depth = waiting.pop()
        yield depth
        if depth <= MOST_LEVELS:
            inner = part.values() if isinstance(part, dict) else part if isinstance(part, list) else ()
            waiting += [(p, depth + 1) for p in inner]


def _shown(path: Path) -> str:
    """The file's own folder and name: it is seldom in doubt which of several folders it lies in."""
    return f"{path.parent.name}/{path.name}"
