"""Configuration files, read once before Hydra reads them: its complaints about a file often do not name it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import yaml
from omegaconf._utils import get_yaml_loader

from runner.command import complaints
from runner.errors import UsageError
from runner.kernel.yaml_reader import shown

MOST_LEVELS = 50  # far more than a kernel or an experiment needs, far fewer than Python's stack holds
MOST_PARTS = 100_000  # anchors can make billions of a few lines


def is_folder(path: Path) -> bool:
    """Whether a path leads to a folder; also where the system refuses the very name."""
    try:
        return path.is_dir()
    except (OSError, ValueError):
        return False


def check(group: str, name: str, folders: Sequence[Path]) -> None:
    """Refuse a chosen file that cannot be read, or holds what no such file may hold.

    Args:
        group: The folder that it lies in, such as `kernel`.
        name: Without `.yaml`. A file that is not there is left to Hydra, which knows the names that are.
        folders: The configuration folders, in Hydra's order.

    Raises:
        UsageError: naming the file.
    """
    wanted = [folder / group / f"{name}.yaml" for folder in folders]
    path = next((p for p in wanted if os.path.lexists(p)), None)
    if path is None:
        return
    content = read(path)
    if content is not None and not isinstance(content, dict):
        raise UsageError(f"{_shown(path)}: keys with values are expected, not {shown(content)}")
    if odd := [k for k in content or {} if k is None]:
        raise UsageError(f"{_shown(path)}: {'null' if odd[0] is None else odd[0]} is no key")
    if group == "experiment":
        _check_experiment(path, content or {})


def _check_experiment(path: Path, content: dict[Any, Any]) -> None:
    if "experiment" in content:
        raise UsageError(f"{_shown(path)}: experiment: an experiment cannot choose another")
    if "kernel" in content:  # merged into the kernel, it would change what a case is without changing its name
        raise UsageError(
            f"{_shown(path)}: kernel: an experiment chooses a kernel by 'defaults: [override /kernel: NAME]', or "
            f"sweeps it under hydra.sweeper.params"
        )
    for key in ("device", "timing", "hydra"):
        if key in content and not isinstance(content[key], dict):
            raise UsageError(
                f"{_shown(path)}: {key}: keys with values are expected, not {shown(content[key])}; a file is chosen by "
                f"'defaults: [override /{key}: NAME]'"
            )
    header = next((line for line in path.read_text(encoding="utf-8").splitlines() if line.strip()), "")
    if "@package" not in header or "_global_" not in header:
        raise UsageError(f"{_shown(path)}: an experiment must begin with '# @package _global_', not {shown(header)}")


def read(path: Path) -> Any:
    """What a YAML file holds, read as Hydra reads it.

    Raises:
        UsageError: if it cannot be read, is no UTF-8 text, or no YAML.
    """
    try:
        if not path.is_file():
            what = "a folder" if path.is_dir() else "a link that leads nowhere" if path.is_symlink() else "no file"
            raise UsageError(f"{_shown(path)}: this is {what}; a YAML file is expected")
        with path.open(encoding="utf-8") as file:
            content = yaml.load(file, Loader=get_yaml_loader())  # noqa: S506  (OmegaConf's, which is a safe one)
    except OSError as e:
        raise UsageError(f"{_shown(path)}: the file cannot be read: {e.strerror}") from None
    except UnicodeDecodeError as e:
        raise UsageError(f"{_shown(path)}: this is no UTF-8 text: {e.reason}") from None
    except yaml.MarkedYAMLError as e:
        raise UsageError(complaints.sentence(e, ())) from None
    except RecursionError:
        raise UsageError(f"{_shown(path)}: the YAML is nested too deeply") from None
    except (yaml.YAMLError, ValueError) as e:
        reason = str(e).splitlines()[0]
        raise UsageError(f"{_shown(path)}: this is no YAML: {reason}") from None
    for parts, depth in enumerate(_depths(content)):
        if depth > MOST_LEVELS:
            raise UsageError(f"{_shown(path)}: the YAML is nested too deeply, or contains itself by an anchor")
        if parts > MOST_PARTS:
            raise UsageError(f"{_shown(path)}: the YAML has more than {MOST_PARTS} parts")
    return content


def undecodable(folders: Sequence[Path]) -> str:
    """The configuration files that are not UTF-8: the error that they cause does not name them."""
    found = []
    for path in sorted(p for folder in folders for p in folder.rglob("*.yaml") if p.is_file()):
        try:
            path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            found.append(str(path))
    return ", ".join(found) or "a configuration file"


def _depths(content: Any) -> Iterator[int]:
    """How deep each part lies; ends a little below the deepest level that is allowed."""
    waiting: list[tuple[Any, int]] = [(content, 0)]
    while waiting:
        part, depth = waiting.pop()
        yield depth
        if depth <= MOST_LEVELS:
            inner = part.values() if isinstance(part, dict) else part if isinstance(part, list) else ()
            waiting += [(p, depth + 1) for p in inner]


def _shown(path: Path) -> str:
    """The file's own folder and name: which of several folders it lies in is seldom in doubt."""
    return f"{path.parent.name}/{path.name}"
