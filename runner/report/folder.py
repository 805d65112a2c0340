"""What a run folder holds beside its table: the environment and the sources. Any of it may be missing."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SOURCE_ENDINGS = (".cu", ".cuh", ".h", ".yaml", ".yml")
MOST_CHARACTERS = 200_000
"""What is shown of all sources together; the folder has the rest."""


@dataclass(frozen=True)
class Source:
    """A file of the folder's sources/: its path within, and its text, perhaps cut."""

    name: str
    text: str


def environment(folder: Path) -> dict[str, Any]:
    """What is in environment.json; empty where it is missing or torn, which must not keep anyone from the results."""
    try:
        content = json.loads((folder / "environment.json").read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}


def section(content: dict[str, Any], name: str) -> dict[str, Any]:
    """A part of the environment; empty where it is missing or no part."""
    part = content.get(name)
    return part if isinstance(part, dict) else {}


def flat(content: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    """Names and values of nested dictionaries, one line each: `device.name`, `NVIDIA H200`."""
    for name, value in content.items():
        if isinstance(value, dict) and value:
            yield from flat(value, f"{prefix}{name}.")
        elif isinstance(value, list) and not any(isinstance(item, dict | list) for item in value):
            yield f"{prefix}{name}", ", ".join(map(str, value))
        else:
            yield f"{prefix}{name}", value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def sources(folder: Path) -> list[Source]:
    """The kernels and declarations as the run used them, kernels first."""
    root = folder / "sources"
    paths = [path for path in root.rglob("*") if path.suffix in SOURCE_ENDINGS and path.is_file()]
    paths.sort(key=lambda path: (SOURCE_ENDINGS.index(path.suffix), path.relative_to(root).as_posix()))
    found, left = [], MOST_CHARACTERS
    for path in paths:
        text = path.read_text("utf-8", errors="replace")
        shown = text[:left]
        left -= len(shown)
        name = path.relative_to(root).as_posix()
        found.append(Source(name, shown if len(shown) == len(text) else f"{shown}\n[cut here: see sources/{name}]"))
    return found
