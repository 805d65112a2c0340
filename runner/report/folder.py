"""What a run folder holds beside its table: the environment and the configuration. Any of it may be missing."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from runner.folder import RunFolder


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


def configuration(folder: Path) -> tuple[int, str] | None:
    """The number of the first job that kept its resolved configuration, and that, as YAML."""
    run = RunFolder(folder)
    for job in run.jobs():
        with suppress(OSError):
            return job, (run.job(job) / ".hydra" / "config.yaml").read_text("utf-8", errors="replace")
    return None


def overrides(command: str) -> list[str]:
    """What the command sets, as it stood there: all behind `python -m runner`."""
    try:
        words = shlex.split(command)
    except ValueError:  # an open quote
        return []
    return words[words.index("runner") + 1 :] if "runner" in words else []


def repeatable(folder: Path) -> bool:
    """Whether the folder kept what a second sweep like it needs."""
    return (RunFolder(folder).sources / "conf" / "config.yaml").is_file()
